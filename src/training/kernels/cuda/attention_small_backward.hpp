#pragma once

#include "training/kernels/cuda/attention_small_pairs.hpp"

namespace headway::training::HEADWAY_GPU {

/// Gradients of a tile of queries, or of the keys and values of a tile of keys (block x: run of
/// examples, block y: tile, those of queries first). What a pair needs of the forward pass is
/// computed again on either side. Softmax with a value network needs the sums over keys of b d_b
/// first: a launch of the query tiles alone, with `known_over_keys` null, makes them.
template <typename T, typename Cut, bool generated>
class SmallBackward : private SmallPairs<T, Cut, generated> {
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
  HEADWAY_DEVICE SmallBackward(Block& block, const AttentionArguments<T>& arguments,
                               const GradientArguments<T>& gradients, const SmallArrays& arrays)
      : Base(block, arguments, arrays), gradients_(gradients) {}

  HEADWAY_DEVICE void run() {
    const int query_tiles = ceiling(x_.queries, tile_);
    const auto example_at = [&](int group) {
      return static_cast<int>(static_cast<std::int64_t>(group) * x_.batch / x_.plan.groups);
    };
    first_example_ = example_at(block_.x());
    for (example_ = first_example_; example_ < example_at(block_.x() + 1); ++example_) {
      if (block_.y() < query_tiles) {
        first_own_ = block_.y() * tile_;
        load<true>();
        block_.warps([&](const Warp& warp) { sweep_keys(warp); });
      } else {
        first_own_ = (block_.y() - query_tiles) * tile_;
        load<false>();
        block_.warps([&](const Warp& warp) { sweep_queries(warp); });
      }
    }
  }

 private:
  // Rows of the pairs of a warp's tokens. `first`: query or key; `second`: value or d_output.
  struct Rows {
    Lanes<SmallRow> own_first, own_second, first, second;
  };
  struct Gradient {
    float reduced;      // what is added up over the pair's lanes
    float d_b[kOwn];    // then d_s
    float d_all[kAll];  // the lane's share of d_b, of all heads
    float d_u[kDims];   // of a generated network
  };

  // --- what a block loads -------------------------------------------------------------------

  template <bool own_is_query>
  HEADWAY_DEVICE void load() {
    if constexpr (own_is_query) {
      Base::template load_all<false>(Base::keys(), arrays_.first);
      Base::template load_all<generated>(Base::values(), arrays_.second);
    } else {
      Base::template load_all<false>(Base::queries(), arrays_.first);
      Base::template load_all<generated>(Base::outputs(gradients_.d_output), arrays_.second);
    }
    Base::template load_dropout<own_is_query>();
    if (!Base::softmax()) return;
    for_each(block_, x_.queries, Cut::kHeads, [&](int query, int head) {
      const int at = query * Cut::kHeads + head;
      const bool real = head < x_.heads;
      put(arrays_.log_sum, at, real ? get(gradients_.log_sum_exp, sum_at(head, query)) : 0.0F);
      put(arrays_.over_keys, at, real ? over_keys(head, query) : 0.0F);
    });
  }
  // In [B, H, Sq].
  HEADWAY_DEVICE std::int64_t sum_at(int head, int query) const {
    return (static_cast<std::int64_t>(example_) * x_.heads + head) * x_.queries + query;
  }
  HEADWAY_DEVICE bool sums_wanted() const {
    return generated && Base::softmax() && gradients_.known_over_keys == nullptr;
  }
  // sum_k b d_b, of a plain network d_output . output.
  HEADWAY_DEVICE float over_keys(int head, int query) const {
    if (sums_wanted()) return 0.0F;
    if constexpr (generated) return get(gradients_.known_over_keys, sum_at(head, query));
    const auto rows = Base::outputs(gradients_.output);
    const std::int64_t at = Base::start_of(rows.steps, query) + head * rows.dim;
    float sum = 0.0F;
    for (int e = 0; e < rows.dim; ++e) {
      sum = fused(get(gradients_.d_output, at + e), get(gradients_.output, at + e), sum);
    }
    return sum;
  }

  // --- one pair a lane ----------------------------------------------------------------------

  // Pair `first` + slice of each lane, up to the gradient of its weights.
  template <bool own_is_query>
  HEADWAY_DEVICE void step(const Warp& warp, int first, Rows& rows, Lanes<Pair>& pairs,
                           Lanes<Gradient>& g) const {
    warp.lanes([&](int lane) {
      const Place p = Base::place(warp, lane, own_is_query ? x_.queries : x_.keys);
      Pair& pair = pairs[lane];
      Base::template choose<own_is_query>(p, first + p.slice, pair);
      const int other = own_is_query ? pair.key : pair.query;
      Base::load_other(arrays_.first, other, p.part, rows.first[lane]);
      if constexpr (own_is_query) {
        Base::score(rows.own_first[lane], rows.first[lane], p.part, pair);
      } else {
        Base::score(rows.first[lane], rows.own_first[lane], p.part, pair);
      }
    });
    Base::weigh(
        warp,
        [&](int lane, int j) {
          return get(arrays_.log_sum, at_query(lane % kLanes, j, pairs[lane]));
        },
        pairs);
    warp.lanes([&](int lane) {
      const Pair& pair = pairs[lane];
      Base::load_other(arrays_.second, own_is_query ? pair.key : pair.query, lane % kLanes,
                       rows.second[lane]);
      if constexpr (own_is_query) {
        differentiate(pair, rows.second[lane], rows.own_second[lane], g[lane]);
      } else {
        differentiate(pair, rows.own_second[lane], rows.second[lane], g[lane]);
      }
    });
    if constexpr (generated) collect(warp, g);
  }
  HEADWAY_DEVICE int at_query(int part, int j, const Pair& pair) const {
    return pair.query * Cut::kHeads + part * kOwn + j;
  }

  // d_b of a plain network; of HYLA a lane's share of it, from its dims of d_u and of phi(u).
  HEADWAY_DEVICE void differentiate(const Pair& pair, const SmallRow& value,
                                    const SmallRow& d_output, Gradient& g) const {
    if constexpr (generated) {
      HEADWAY_UNROLL
      for (int h = 0; h < kAll; ++h) g.d_all[h] = 0.0F;
      HEADWAY_UNROLL
      for (int e = 0; e < kDims; ++e) {
        const ValueAndSlope y = apply(x_.options.nonlinearity, Base::over_heads(pair, value, e));
        const float z = y.value;
        g.d_u[e] = y.slope * Base::over_heads(pair, d_output, e);
        HEADWAY_UNROLL
        for (int h = 0; h < kAll; ++h) {
          g.d_all[h] = fused(z, d_output.x[h * kDims + e], g.d_all[h]);
          g.d_all[h] = fused(g.d_u[e], value.x[h * kDims + e], g.d_all[h]);
        }
      }
      HEADWAY_UNROLL
      for (int j = 0; j < kOwn; ++j) g.d_b[j] = g.d_all[j];
    } else {
      HEADWAY_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        g.d_b[j] = 0.0F;
        HEADWAY_UNROLL
        for (int i = j * Cut::kDims; i < (j + 1) * Cut::kDims; ++i) {
          g.d_b[j] = fused(d_output.x[i], value.x[i], g.d_b[j]);
        }
      }
    }
  }
  // The neighbours' shares of d_b of a lane's own heads.
  static HEADWAY_DEVICE void collect(const Warp& warp, Lanes<Gradient>& g) {
    HEADWAY_UNROLL
    for (int mask = 1; mask < kLanes; ++mask) {
      HEADWAY_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        exchange(
            warp, mask, [&](int lane) { return g[lane].d_all[mask * kOwn + j]; },
            [&](int lane, float other) { g[lane].d_b[j] += other; });
      }
    }
  }

  // d_b becomes d_s, by the formulas of ValueGradient::score_gradient.
  HEADWAY_DEVICE void score_gradient(const Warp& warp, const Lanes<Pair>& pairs,
                                     Lanes<Gradient>& g) const {
    if (Base::rms_head()) {
      warp.lanes([&](int lane) {
        g[lane].reduced = 0.0F;
        HEADWAY_UNROLL
        for (int j = 0; j < kOwn; ++j) g[lane].reduced += pairs[lane].weight[j] * g[lane].d_b[j];
      });
      Base::add_up_over_heads(warp, [&](int lane) -> float& { return g[lane].reduced; });
    }
    warp.lanes([&](int lane) {
      const Pair& pair = pairs[lane];
      Gradient& mine = g[lane];
      float mean = 0.0F;
      if (Base::rms_head() && pair.dropout != 0.0F) {
        mean = mine.reduced * (pair.r / pair.dropout / static_cast<float>(x_.heads));
      }
      HEADWAY_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        float d_s = pair.r * pair.dropout * mine.d_b[j] - mean * pair.weight[j];
        if (Base::softmax()) {
          const float sum = get(arrays_.over_keys, at_query(lane % kLanes, j, pair));
          d_s = pair.weight[j] * mine.d_b[j] - pair.before[j] * sum;
        }
        mine.d_b[j] = pair.seen ? d_s : 0.0F;
      }
    });
  }

  // row += d_s of the pair times the other token's row.
  static HEADWAY_DEVICE void add_scores(const Gradient& g, const SmallRow& other, SmallRow& row) {
    HEADWAY_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      const float d_s = g.d_b[j];
      HEADWAY_UNROLL
      for (int i = j * Cut::kDims; i < (j + 1) * Cut::kDims; ++i) {
        row.x[i] = fused(d_s, other.x[i], row.x[i]);
      }
    }
  }

  // --- sweeps -------------------------------------------------------------------------------

  HEADWAY_DEVICE int tokens_of_warp() const { return 32 / (kLanes * token_lanes_); }

  HEADWAY_DEVICE void sweep_keys(const Warp& warp) {
    Rows rows;
    warp.lanes([&](int lane) {
      const Place p = Base::place(warp, lane, x_.queries);
      Base::template load_own<false>(Base::queries(), p.own, p.part, rows.own_first[lane]);
      Base::template load_own<generated>(Base::outputs(gradients_.d_output), p.own, p.part,
                                         rows.own_second[lane]);
    });
    int end = x_.keys;
    if (x_.options.causal) {
      const int seen = first_own_ + (warp.index() + 1) * tokens_of_warp() + x_.keys - x_.queries;
      if (seen < end) end = seen;
    }
    if (sums_wanted()) return sum_over_keys(warp, end, rows);
    Lanes<SmallRow> d_query;
    for (int first = 0; first < end; first += token_lanes_) {
      Lanes<Pair> pairs;
      Lanes<Gradient> g;
      step<true>(warp, first, rows, pairs, g);
      score_gradient(warp, pairs, g);
      warp.lanes([&](int lane) { add_scores(g[lane], rows.first[lane], d_query[lane]); });
    }
    Base::add_up_over_pairs(warp, d_query);
    warp.lanes([&](int lane) {
      const Place p = Base::place(warp, lane, x_.queries);
      if (!p.inside || p.slice != 0) return;
      const float scale = 1.0F / sqrtf(static_cast<float>(x_.query_dim));
      const auto factor = [scale](int, int) { return scale; };
      if (!(gradients_.query == nullptr)) {
        Base::template store_own<false>(gradients_.query, Base::start_of(x_.query_steps, p.own),
                                        x_.query_dim, p.part, d_query[lane], factor);
      } else {
        Base::template store_own<false>(gradients_.query_sums,
                                        Base::start_of(gradients_.query_sum_steps, p.own),
                                        x_.query_dim, p.part, d_query[lane], factor);
      }
    });
  }

  // over_keys = sum_k b d_b.
  HEADWAY_DEVICE void sum_over_keys(const Warp& warp, int end, Rows& rows) {
    Lanes<Gradient> sums;
    for (int first = 0; first < end; first += token_lanes_) {
      Lanes<Pair> pairs;
      Lanes<Gradient> g;
      step<true>(warp, first, rows, pairs, g);
      warp.lanes([&](int lane) {
        HEADWAY_UNROLL
        for (int j = 0; j < kOwn; ++j) {
          sums[lane].d_b[j] = fused(pairs[lane].weight[j], g[lane].d_b[j], sums[lane].d_b[j]);
        }
      });
    }
    HEADWAY_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      Base::add_up(warp, kLanes, kLanes * token_lanes_,
                   [&](int lane) -> float& { return sums[lane].d_b[j]; });
    }
    warp.lanes([&](int lane) {
      const Place p = Base::place(warp, lane, x_.queries);
      HEADWAY_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        const int head = p.part * kOwn + j;
        if (!p.inside || p.slice != 0 || head >= x_.heads) continue;
        put(gradients_.over_keys, sum_at(head, p.own), sums[lane].d_b[j]);
      }
    });
  }

  HEADWAY_DEVICE void sweep_queries(const Warp& warp) {
    Rows rows;
    Lanes<SmallRow> d_key;
    Lanes<SmallRow> d_value;
    warp.lanes([&](int lane) {
      const Place p = Base::place(warp, lane, x_.keys);
      Base::template load_own<false>(Base::keys(), p.own, p.part, rows.own_first[lane]);
      Base::template load_own<generated>(Base::values(), p.own, p.part, rows.own_second[lane]);
    });
    int begin = 0;
    if (x_.options.causal && gradients_.bias_sums == nullptr) {  // else hidden pairs get their 0
      begin = first_own_ + warp.index() * tokens_of_warp() - (x_.keys - x_.queries);
      if (begin < 0) begin = 0;
    }
    for (int first = begin; first < x_.queries; first += token_lanes_) {
      Lanes<Pair> pairs;
      Lanes<Gradient> g;
      step<false>(warp, first, rows, pairs, g);
      score_gradient(warp, pairs, g);
      warp.lanes([&](int lane) {
        store_bias(lane % kLanes, pairs[lane], g[lane]);
        add_scores(g[lane], rows.first[lane], d_key[lane]);
        add_values(pairs[lane], g[lane], rows.second[lane], d_value[lane]);
      });
    }
    Base::add_up_over_pairs(warp, d_key);
    Base::add_up_over_pairs(warp, d_value);
    warp.lanes([&](int lane) {
      const Place p = Base::place(warp, lane, x_.keys);
      if (p.inside && p.slice == 0) store_key(p, d_key[lane], d_value[lane]);
    });
  }

  // d_v += b d_u; of a plain network, of phi(v): b d_output.
  static HEADWAY_DEVICE void add_values(const Pair& pair, const Gradient& g,
                                        const SmallRow& d_output, SmallRow& row) {
    HEADWAY_UNROLL
    for (int i = 0; i < Cut::kRow; ++i) {
      if constexpr (generated) {
        row.x[i] = fused(pair.factor[i / kDims], g.d_u[i % kDims], row.x[i]);
      } else {
        row.x[i] = fused(pair.factor[i / Cut::kDims], d_output.x[i], row.x[i]);
      }
    }
  }

  HEADWAY_DEVICE void store_bias(int part, const Pair& pair, const Gradient& g) const {
    if (gradients_.bias_sums == nullptr || !pair.inside) return;
    const std::int64_t copy =
        static_cast<std::int64_t>(block_.x()) * x_.heads * x_.queries * x_.keys;
    HEADWAY_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      const int head = part * kOwn + j;
      if (head >= x_.heads) continue;
      const std::int64_t at = copy + Base::bias_at(head, pair);
      const float before = example_ == first_example_ ? 0.0F : get(gradients_.bias_sums, at);
      put(gradients_.bias_sums, at, before + g.d_b[j]);
    }
  }

  HEADWAY_DEVICE void store_key(const Place& p, const SmallRow& d_key,
                                const SmallRow& d_value) const {
    Base::template store_own<false>(gradients_.key, Base::start_of(x_.key_steps, p.own),
                                    x_.query_dim, p.part, d_key, [](int, int) { return 1.0F; });
    const std::int64_t start = Base::start_of(x_.value_steps, p.own);
    const Nonlinearity phi = x_.options.nonlinearity;
    const auto slope = [&](int head, int dim) {
      if (generated || phi == Nonlinearity::kIdentity) return 1.0F;
      return apply(phi, get(x_.value, start + head * x_.value_dim + dim)).slope;
    };
    Base::template store_own<generated>(gradients_.value, start, x_.value_dim, p.part, d_value,
                                        slope);
  }

  const GradientArguments<T>& gradients_;
  int first_example_ = 0;  // of the block
};

}  // namespace headway::training::HEADWAY_GPU
