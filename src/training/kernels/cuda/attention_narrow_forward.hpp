#pragma once

#include "training/kernels/cuda/attention_narrow_pairs.hpp"

// The forward pass of narrow layers (attention_narrow_pairs.hpp).
namespace headway::training::HEADWAY_GPU {

struct NarrowTile {
  int keys, queries;  ///< queries: of a block
  int row;            ///< numbers of a token, padded
};

struct NarrowTileArrays {
  template <typename Memory>
  HEADWAY_DEVICE NarrowTileArrays(Memory& memory, const NarrowTile& n)
      : query(memory.template take<float>("queries", n.queries * n.row)),
        key(memory.template take<float>("keys", n.keys * n.row)),
        value(memory.template take<float>("values", n.keys * n.row)),
        dropout(memory.template take<float>("dropout of pairs", n.queries * n.keys)) {}

  // Rows are [token][dim][head].
  Shared<float> query, key, value;
  Shared<float> dropout;  // [query of the tile][key]; hidden pairs: kHiddenPair
};

/// Outputs of a tile of queries (block x: example, block y: tile). Softmax sweeps over the keys
/// once before, for the log of its sum.
template <typename T, typename Cut, bool generated, bool softmax>
class NarrowForward : private NarrowPairs<T, Cut, generated> {
  using Narrow = NarrowPairs<T, Cut, generated>;
  using Narrow::block_;
  using Narrow::example_;
  using Narrow::kDims;
  using Narrow::kHeads;
  using Narrow::x_;
  using typename Narrow::Heads;
  using typename Narrow::Row;

 public:
  HEADWAY_DEVICE NarrowForward(Block& block, const AttentionArguments<T>& arguments,
                               const NarrowTileArrays& arrays)
      : Narrow(block, arguments), arrays_(arrays) {}

  HEADWAY_DEVICE void run() {
    example_ = block_.x();
    first_ = block_.y() * x_.plan.tile_queries;
    const int left = x_.queries - first_;
    count_ = left < x_.plan.tile_queries ? left : x_.plan.tile_queries;
    block_.threads_afresh([&](int thread) { load(thread); });
    block_.warps_afresh([&](const Warp& warp) { attend(warp); });
  }

 private:
  struct Sums {  // of softmax: the largest score, and the sum of exp(s - largest)
    Heads largest, sum;
  };

  HEADWAY_DEVICE void load(int thread) const {
    auto queries = Narrow::queries();
    queries.data = queries.data + first_ * queries.steps.token;
    queries.tokens = count_;
    Narrow::load_rows(thread, queries, arrays_.query);
    Narrow::load_rows(thread, Narrow::keys(), arrays_.key);
    Narrow::load_rows(thread, Narrow::values(), arrays_.value);
    for (int pair = thread; pair < count_ * x_.keys; pair += block_.size()) {
      const int query = first_ + pair / x_.keys;
      const int key = pair % x_.keys;
      put(arrays_.dropout, pair,
          Narrow::visible(query, key) ? dropout_of(x_.dropout, query, key, x_.keys) : kHiddenPair);
    }
  }

  // s (eq. 1).
  HEADWAY_DEVICE Heads score(int query, int key) const {
    Heads s;
    Narrow::load_bias(first_ + query, key, s);
    Narrow::add_products(arrays_.query, query, arrays_.key, key, s);
    return s;
  }

  HEADWAY_DEVICE void attend(const Warp& warp) const {
    constexpr int kQueries = 32 / kNarrowSlices;
    Lanes<Row> outputs;
    Lanes<Sums> sums;
    const int first = warp.index() * kQueries;  // of the tile
    if constexpr (softmax) find_log_sums(warp, first, sums);
    warp.lanes([&](int lane) {
      const int query = first + lane / kNarrowSlices;
      if (query >= count_) return;
      for (int key = lane % kNarrowSlices; key < x_.keys; key += kNarrowSlices) {
        add_pair(query, key, sums[lane], outputs[lane]);
      }
    });
    Narrow::share(warp, outputs);
    warp.lanes([&](int lane) {
      const int query = first + lane / kNarrowSlices;
      if (query >= count_) return;
      const int slice = lane % kNarrowSlices;
      const auto rows = Narrow::outputs({});
      Narrow::store_eighth(x_.output, Narrow::start_of(rows.steps, first_ + query), slice,
                           outputs[lane], [](std::int64_t) { return 1.0F; });
      if (softmax && slice == 0) store_log_sums(first_ + query, sums[lane]);
    });
  }
  HEADWAY_DEVICE void store_log_sums(int query, const Sums& sums) const {
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      if (h >= x_.heads) continue;
      put(x_.log_sum_exp, (static_cast<std::int64_t>(example_) * x_.heads + h) * x_.queries + query,
          sums.sum.x[h]);
    }
  }

  // o[h] += b of what the value network makes of a pair (eqs. 2 to 6).
  HEADWAY_DEVICE void add_pair(int query, int key, const Sums& sums, Row& output) const {
    const float dropout = get(arrays_.dropout, query * x_.keys + key);
    if (dropout < 0.0F) return;  // hidden
    Heads weight = score(query, key);
    const float scale = Narrow::normaliser(weight) * dropout;
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      if constexpr (softmax) weight.x[h] = expf(weight.x[h] - sums.sum.x[h]);
      weight.x[h] *= scale;
    }
    HEADWAY_UNROLL
    for (int e = 0; e < kDims; ++e) {
      Heads value;
      Narrow::load_heads(arrays_.value, Narrow::row_at(key, e), value);
      if constexpr (generated) {
        float u = 0.0F;
        HEADWAY_UNROLL
        for (int h = 0; h < kHeads; ++h) u = fused(weight.x[h], value.x[h], u);
        const float z = apply(x_.options.nonlinearity, u).value;
        HEADWAY_UNROLL
        for (int h = 0; h < kHeads; ++h) {
          output.x[e * kHeads + h] = fused(weight.x[h], z, output.x[e * kHeads + h]);
        }
      } else {
        HEADWAY_UNROLL
        for (int h = 0; h < kHeads; ++h) {
          output.x[e * kHeads + h] = fused(weight.x[h], value.x[h], output.x[e * kHeads + h]);
        }
      }
    }
  }

  // sum = log sum_k exp s, +infinity where a query sees no key.
  HEADWAY_DEVICE void find_log_sums(const Warp& warp, int first, Lanes<Sums>& sums) const {
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int h = 0; h < kHeads; ++h) sums[lane].largest.x[h] = -INFINITY;
      const int query = first + lane / kNarrowSlices;
      if (query >= count_) return;
      for (int key = lane % kNarrowSlices; key < x_.keys; key += kNarrowSlices) {
        if (get(arrays_.dropout, query * x_.keys + key) < 0.0F) continue;
        add_to_sums(score(query, key), sums[lane]);
      }
    });
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      HEADWAY_UNROLL
      for (int mask = 1; mask < kNarrowSlices; mask *= 2) join(warp, mask, h, sums);
      warp.lanes([&](int lane) {
        float& sum = sums[lane].sum.x[h];
        sum = sum == 0.0F ? INFINITY : sums[lane].largest.x[h] + logf(sum);
      });
    }
  }
  static HEADWAY_DEVICE void add_to_sums(const Heads& s, Sums& sums) {
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      if (s.x[h] > sums.largest.x[h]) {
        sums.sum.x[h] *= expf(sums.largest.x[h] - s.x[h]);
        sums.largest.x[h] = s.x[h];
      }
      sums.sum.x[h] += expf(s.x[h] - sums.largest.x[h]);
    }
  }
  // Two lanes' sums of a head become one, the same for both.
  static HEADWAY_DEVICE void join(const Warp& warp, int mask, int h, Lanes<Sums>& sums) {
    Lanes<float> before;
    warp.lanes([&](int lane) { before[lane] = sums[lane].largest.x[h]; });
    exchange(
        warp, mask, [&](int lane) { return sums[lane].largest.x[h]; },
        [&](int lane, float other) {
          if (other > sums[lane].largest.x[h]) sums[lane].largest.x[h] = other;
        });
    warp.lanes([&](int lane) {
      Sums& s = sums[lane];
      if (s.largest.x[h] > before[lane]) s.sum.x[h] *= expf(before[lane] - s.largest.x[h]);
    });
    exchange(
        warp, mask, [&](int lane) { return sums[lane].sum.x[h]; },
        [&](int lane, float other) { sums[lane].sum.x[h] += other; });
  }

  const NarrowTileArrays arrays_;
  int first_ = 0, count_ = 0;  // queries of the tile
};

}  // namespace headway::training::HEADWAY_GPU
