#pragma once

#include "training/kernels/cuda/attention_small_pairs.hpp"

// The kernels for small layers, but for deep networks: scores, weights, values and sums of a pair
// stay in registers. Warps work by themselves, each on a few tokens; a block loads what its warps
// share once. No sum passes through memory, and no two blocks add to the same number.
namespace headway::training::HEADWAY_GPU {

/// Outputs of a tile of queries (block x: example, block y: tile). Softmax sweeps over the keys
/// once before, for the log of its sum.
template <typename T, typename Cut, bool generated>
class SmallForward : private SmallPairs<T, Cut, generated> {
  using Base = SmallPairs<T, Cut, generated>;
  using Base::arrays_;
  using Base::block_;
  using Base::example_;
  using Base::first_own_;
  using Base::kAll;
  using Base::kDims;
  using Base::kLanes;
  using Base::kOwn;
  using Base::tile_;
  using Base::token_lanes_;
  using Base::x_;
  using typename Base::Pair;
  using typename Base::Place;
  using typename Base::SmallRow;

 public:
  HEADWAY_DEVICE SmallForward(Block& block, const AttentionArguments<T>& arguments,
                              const SmallArrays& arrays)
      : Base(block, arguments, arrays) {}

  HEADWAY_DEVICE void run() {
    example_ = block_.x();
    first_own_ = block_.y() * tile_;
    Base::template load_all<false>(Base::keys(), arrays_.first);
    Base::template load_all<generated>(Base::values(), arrays_.second);
    Base::template load_dropout<true>();
    block_.warps([&](const Warp& warp) { attend(warp); });
  }

 private:
  // Of softmax: the sum of exp(s - largest) so far, then the log sum.
  struct Sums {
    float largest[kOwn], mine[kOwn], sum[kOwn];
  };

  HEADWAY_DEVICE int end_of_keys(const Warp& warp) const {
    if (!x_.options.causal) return x_.keys;
    const int queries = 32 / (kLanes * token_lanes_);
    const int end = first_own_ + (warp.index() + 1) * queries + x_.keys - x_.queries;
    return end < x_.keys ? end : x_.keys;
  }

  HEADWAY_DEVICE void score_pairs(const Warp& warp, int first, const Lanes<SmallRow>& queries,
                                  Lanes<Pair>& pairs) const {
    warp.lanes([&](int lane) {
      const Place p = Base::place(warp, lane, x_.queries);
      Pair& pair = pairs[lane];
      Base::template choose<true>(p, first + p.slice, pair);
      SmallRow key;
      Base::load_other(arrays_.first, pair.key, p.part, key);
      Base::score(queries[lane], key, p.part, pair);
    });
  }

  HEADWAY_DEVICE void attend(const Warp& warp) {
    Lanes<SmallRow> queries;
    Lanes<SmallRow> outputs;
    Lanes<Sums> sums;
    warp.lanes([&](int lane) {
      const Place p = Base::place(warp, lane, x_.queries);
      Base::template load_own<false>(Base::queries(), p.own, p.part, queries[lane]);
    });
    const int end = end_of_keys(warp);
    if (Base::softmax()) find_log_sums(warp, end, queries, sums);
    for (int first = 0; first < end; first += token_lanes_) {
      Lanes<Pair> pairs;
      score_pairs(warp, first, queries, pairs);
      Base::weigh(
          warp, [&](int lane, int j) { return sums[lane].sum[j]; }, pairs);
      warp.lanes([&](int lane) { add_output(lane % kLanes, pairs[lane], outputs[lane]); });
    }
    Base::add_up_over_pairs(warp, outputs);
    warp.lanes([&](int lane) {
      const Place p = Base::place(warp, lane, x_.queries);
      if (!p.inside || p.slice != 0) return;
      const auto rows = Base::outputs({});
      Base::template store_own<generated>(x_.output, Base::start_of(rows.steps, p.own), rows.dim,
                                          p.part, outputs[lane], [](int, int) { return 1.0F; });
      HEADWAY_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        const int head = p.part * kOwn + j;
        if (!Base::softmax() || head >= x_.heads) continue;
        put(x_.log_sum_exp,
            (static_cast<std::int64_t>(example_) * x_.heads + head) * x_.queries + p.own,
            sums[lane].sum[j]);
      }
    });
  }

  // o[q, h] += b of what the value network makes of a pair (eqs. 5 and 6).
  HEADWAY_DEVICE void add_output(int part, const Pair& pair, SmallRow& output) const {
    SmallRow value;
    Base::load_other(arrays_.second, pair.key, part, value);
    if constexpr (generated) {
      HEADWAY_UNROLL
      for (int e = 0; e < kDims; ++e) {
        const float u = Base::over_heads(pair, value, e);
        const float z = apply(x_.options.nonlinearity, u).value;
        HEADWAY_UNROLL
        for (int h = 0; h < kAll; ++h) {
          output.x[h * kDims + e] = fused(pair.factor[h], z, output.x[h * kDims + e]);
        }
      }
    } else {
      HEADWAY_UNROLL
      for (int i = 0; i < Cut::kRow; ++i) {
        output.x[i] = fused(pair.factor[i / Cut::kDims], value.x[i], output.x[i]);
      }
    }
  }

  // sum = log sum_k exp s, +infinity where a query sees no key.
  HEADWAY_DEVICE void find_log_sums(const Warp& warp, int end, const Lanes<SmallRow>& queries,
                                    Lanes<Sums>& sums) const {
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int j = 0; j < kOwn; ++j) sums[lane].largest[j] = -INFINITY;
    });
    for (int first = 0; first < end; first += token_lanes_) {
      Lanes<Pair> pairs;
      score_pairs(warp, first, queries, pairs);
      warp.lanes([&](int lane) { add_to_sums(pairs[lane], sums[lane]); });
    }
    HEADWAY_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      warp.lanes([&](int lane) { sums[lane].mine[j] = sums[lane].largest[j]; });
      for (int mask = kLanes; mask < kLanes * token_lanes_; mask *= 2) {
        exchange(
            warp, mask, [&](int lane) { return sums[lane].largest[j]; },
            [&](int lane, float other) {
              if (other > sums[lane].largest[j]) sums[lane].largest[j] = other;
            });
      }
      warp.lanes([&](int lane) {
        Sums& s = sums[lane];
        if (s.largest[j] > s.mine[j]) s.sum[j] *= expf(s.mine[j] - s.largest[j]);
      });
      Base::add_up(warp, kLanes, kLanes * token_lanes_,
                   [&](int lane) -> float& { return sums[lane].sum[j]; });
      warp.lanes([&](int lane) {
        Sums& s = sums[lane];
        s.sum[j] = s.sum[j] == 0.0F ? INFINITY : s.largest[j] + logf(s.sum[j]);
      });
    }
  }

  static HEADWAY_DEVICE void add_to_sums(const Pair& pair, Sums& sums) {
    if (!pair.seen) return;
    HEADWAY_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      const float s = pair.score[j];
      if (s > sums.largest[j]) {
        sums.sum[j] *= expf(sums.largest[j] - s);
        sums.largest[j] = s;
      }
      sums.sum[j] += expf(s - sums.largest[j]);
    }
  }
};

}  // namespace headway::training::HEADWAY_GPU
