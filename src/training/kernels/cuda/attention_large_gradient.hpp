#pragma once

#include "training/kernels/cuda/attention_large_tile.hpp"

namespace headway::training::HEADWAY_GPU {

/// A tile of the backward pass of HYLA in bf16 on tensor cores, up to the gradient of its weights.
/// With z = phi(u), u = sum_h b_h v_h (eq. 6) and o_h = sum_k b_h z,
///   d_z = sum_h b_h d_o_h,  d_u = phi'(u) d_z,  d_b_h = z . d_o_h + d_u . v_h.
/// Five steps with a barrier after each. Products sum over 16 numbers at a time, or over the eight
/// heads:
///   scores    a warp a head: [queries x d] [d x keys]
///   weights   a thread a pair
///   d_z       a warp two queries: for each [keys x heads] [heads x dv]
///   d_u       a warp two keys: for each [queries x heads] [heads x dv] makes u, then
///             [queries x dv] [dv x heads] a part of d_b, then [dv x queries] [queries x heads] d_v
///   d_b       a warp two queries: for each [keys x dv] [dv x heads]
/// The steps hand on through shared memory: scores and d_b in float, weights in bf16, and d_z in
/// bf16, 2 dv bytes a pair. z overwrites d_z. d_u stays in the registers of the warp that made it.
/// Keys are read from global memory each time: shared memory has no room for them, and the cache
/// holds them.
template <int dims, typename Phi>
class LargeGradient : protected LargePairs<dims> {
 protected:
  using Base = LargePairs<dims>;
  using Base::block_;
  using Base::first_query_;
  using Base::kHeads;
  using Base::kMostSteps;
  using Base::kSide;
  using Base::kValueHead;
  using Base::kValueRow;
  using Base::kWarps;
  using Base::query_row_;
  using Base::x_;

  template <typename Memory>
  HEADWAY_DEVICE LargeGradient(Block& block, Memory& memory,
                               const AttentionArguments<Bf16>& arguments,
                               const GradientArguments<Bf16>& gradients)
      : Base(block, arguments),
        gradients_(gradients),
        value_(memory.template take<Bf16>("value tile", kSide * kValueRow)),
        d_output_(memory.template take<Bf16>("d_output tile", kSide * kValueRow)),
        score_(memory.template take<float>("scores", kSide * kScoreQuery)),
        d_weight_(memory.template take<float>("d_weight", kSide * kScoreQuery)),
        weight_(memory.template take<Bf16>("weights", kSide * kWeightKey)),
        passed_(memory.template take<Bf16>("d_z, then z", kSide * kPassedQuery)),
        query_(memory.template take<Bf16>("query tile", kSide * query_row_)) {}

  static constexpr int kScorePair = kHeads + 1;                // floats from key to key
  static constexpr int kScoreQuery = kSide * kScorePair + 4;   // from query to query
  static constexpr int kWeightKey = kSide * kHeads + 8;        // numbers from key to key
  static constexpr int kPassedKey = dims + 8;                  // numbers from key to key
  static constexpr int kPassedQuery = kSide * kPassedKey + 8;  // from query to query
  static constexpr int kFactor = kHeads;                       // behind the scores of a pair

  struct Keys {
    Words4 word[kMostSteps];
  };
  struct Values {
    Floats4 sum[2][dims / 16];  // of two keys: dims by heads
  };

  static HEADWAY_DEVICE int at_pair(int query, int key) {
    return query * kScoreQuery + key * kScorePair;
  }

  // --- what comes from memory -----------------------------------------------------------------

  // Of the warp's head, from first_key_ on; the last one again beyond the last.
  HEADWAY_DEVICE void load_keys(const Warp& warp, Lanes<Keys>& keys) const {
    const typename Base::Tokens tokens = {x_.key, x_.key_steps, this->first_key_, x_.keys};
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int half = 0; half < 2; ++half) {
        const Global<const Bf16> row = x_.key + (Base::row_of(tokens, lane / 4 + 8 * half) +
                                                 warp.index() * x_.query_dim + 2 * (lane % 4));
        HEADWAY_UNROLL
        for (int step = 0; step < kMostSteps; ++step) {
          const int dim = 16 * step;
          if (dim >= x_.query_dim) continue;
          keys[lane].word[step].word[2 * half] = get_pair(row, dim);
          keys[lane].word[step].word[2 * half + 1] = get_pair(row, dim + 8);
        }
      }
    });
  }
  HEADWAY_DEVICE void copy_queries(int thread, int first) const {
    Base::copy_queries(thread, first, query_);
    commit_copies();
  }
  HEADWAY_DEVICE void copy_values(int thread, int first) const {
    Base::copy_values(thread, first, value_);
    commit_copies();
  }
  HEADWAY_DEVICE void copy_d_output(int thread, int first) const {
    const std::int64_t row = kHeads * dims;
    Base::copy_heads(thread, {gradients_.d_output, {row, row * x_.queries}, first, x_.queries},
                     d_output_);
    commit_copies();
  }

  // --- scores and weights ---------------------------------------------------------------------

  HEADWAY_DEVICE void multiply_scores() {
    block_.warps_afresh([&](const Warp& warp) {
      Lanes<Keys> mine;
      load_keys(warp, mine);
      Lanes<Floats4> sum[2];
      HEADWAY_UNROLL
      for (int step = 0; step < kMostSteps; ++step) {
        if (16 * step >= x_.query_dim) continue;
        Lanes<Words4> a;
        load_matrices(
            warp, query_,
            [&](int lane) {
              return lane % 16 * query_row_ + warp.index() * x_.query_dim + 16 * step +
                     8 * (lane / 16);
            },
            a);
        HEADWAY_UNROLL
        for (int n = 0; n < 2; ++n) {
          Lanes<Words2> b;
          warp.lanes([&](int lane) {
            b[lane].word[0] = mine[lane].word[step].word[2 * n];
            b[lane].word[1] = mine[lane].word[step].word[2 * n + 1];
          });
          multiply_bf16(warp, sum[n], a, b);
        }
      }
      Base::put_scores(warp, sum, score_, [](int query, int key) { return at_pair(query, key); });
    });
  }

  // The weights b of a pair after dropout (eqs. 2 to 4), as operands. For score_gradient() score_
  // keeps a number a of each head: the score, or softmax's weight. Behind them is the factor of
  // dropout and RMSHead, with b = factor a. Of hidden pairs all are 0.
  HEADWAY_DEVICE void weigh(int pair) const {
    const int query = pair / kSide;
    const int key = pair % kSide;
    const int at = at_pair(query, key);
    float a[kHeads] = {};
    float factor = 0.0F;
    if (Base::visible(query, key)) {
      Base::load_scores(score_, at, query, key, a);
      factor = Base::dropout(query, key);
      if (Base::rms_head()) factor *= Base::inverse_norm(Base::sum_of_squares(a));
      if (Base::softmax()) {
        HEADWAY_UNROLL
        for (int h = 0; h < kHeads; ++h) {
          a[h] = expf(a[h] - get(gradients_.log_sum_exp, Base::query_at(h, query)));
        }
      }
    }
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) put(score_, at + h, a[h]);
    put(score_, at + kFactor, factor);
    Base::put_weights(weight_, key * kWeightKey + query * kHeads, factor, a);
  }

  // --- the value network ----------------------------------------------------------------------

  // passed_ = d_z: a warp's two queries.
  HEADWAY_DEVICE void output_gradient() {
    block_.warps_afresh([&](const Warp& warp) {
      HEADWAY_UNROLL
      for (int i = 0; i < 2; ++i) {
        const int query = 2 * warp.index() + i;
        Lanes<Words2> weights;
        warp.lanes([&](int lane) {
          HEADWAY_UNROLL
          for (int j = 0; j < 2; ++j) {
            weights[lane].word[j] = get_pair(
                weight_, (lane / 4 + 8 * j) * kWeightKey + query * kHeads + 2 * (lane % 4));
          }
        });
        for (int dim = 0; dim < dims; dim += 32) {
          Lanes<Words4> rows;
          load_turned(warp, d_output_, rows_of_heads(query * kValueRow + dim), rows);
          HEADWAY_UNROLL
          for (int n = 0; n < 4; ++n) {
            Lanes<Words1> b;
            Lanes<Floats4> d_z;
            warp.lanes([&](int lane) { b[lane].word[0] = rows[lane].word[n]; });
            multiply_bf16_short(warp, d_z, weights, b);
            warp.lanes([&](int lane) {
              HEADWAY_UNROLL
              for (int j = 0; j < 2; ++j) {
                put_pair(passed_, at_passed(query, lane / 4 + 8 * j, dim + 8 * n + 2 * (lane % 4)),
                         bf16_pair(d_z[lane].value[2 * j], d_z[lane].value[2 * j + 1]));
              }
            });
          }
        }
      }
    });
  }
  static HEADWAY_DEVICE int at_passed(int query, int key, int dim) {
    return query * kPassedQuery + key * kPassedKey + dim;
  }
  // Where the rows of four matrices begin, whose rows are heads: 32 dims from `start` on.
  static HEADWAY_DEVICE auto rows_of_heads(int start) {
    return [start](int lane) { return start + lane % 8 * kValueHead + 8 * (lane / 8); };
  }

  // passed_ = z in place of d_z, d_weight_ = d_u . v, and where there are `sums`, those of the
  // gradient of values: a warp's two keys.
  template <bool with_values>
  HEADWAY_DEVICE void differentiate(WarpLanes<Values, kWarps>& sums) {
    block_.warps_afresh([&](const Warp& warp) {
      Lanes<Words4> by_heads;  // weights of both keys, [queries x heads] as a second operand
      if constexpr (with_values) {
        load_turned(
            warp, weight_,
            [&](int lane) {
              return (2 * warp.index() + lane / 16) * kWeightKey + lane % 16 * kHeads;
            },
            by_heads);
      }
      HEADWAY_UNROLL
      for (int i = 0; i < 2; ++i) differentiate_key<with_values>(warp, i, by_heads, sums[warp]);
    });
  }

  // Operands of a key: weights [queries x heads], and 32 dims of its value [heads x dims].
  struct KeyOperands {
    int key;
    Lanes<Words2> weights;
    Lanes<Words4> turned;
  };

  template <bool with_values>
  HEADWAY_DEVICE void differentiate_key(const Warp& warp, int i, const Lanes<Words4>& by_heads,
                                        Lanes<Values>& sums) {
    KeyOperands of = {2 * warp.index() + i, {}, {}};
    Lanes<Words2> turned_weights;
    Lanes<Floats4> d_b;
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int j = 0; j < 2; ++j) {
        of.weights[lane].word[j] =
            get_pair(weight_, of.key * kWeightKey + (lane / 4 + 8 * j) * kHeads + 2 * (lane % 4));
        turned_weights[lane].word[j] = by_heads[lane].word[2 * i + j];
      }
    });
    HEADWAY_UNROLL
    for (int m = 0; m < dims / 16; ++m) {
      if (m % 2 == 0) {
        load_turned(warp, value_, rows_of_heads(of.key * kValueRow + 16 * m), of.turned);
      }
      Lanes<Words4> d_u;
      multiply_values(warp, of, 16 * m, d_u, d_b);
      if constexpr (with_values) {
        Lanes<Floats4> sum;
        turn(warp, d_u);
        warp.lanes([&](int lane) {
          auto& word = d_u[lane].word;
          const std::uint32_t second = word[1];  // dims now are the rows
          word[1] = word[2];
          word[2] = second;
          sum[lane] = sums[lane].sum[i][m];
        });
        multiply_bf16(warp, sum, d_u, turned_weights);
        warp.lanes([&](int lane) { sums[lane].sum[i][m] = sum[lane]; });
      }
    }
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int j = 0; j < 4; ++j) {
        put(d_weight_, at_pair(lane / 4 + 8 * (j / 2), of.key) + 2 * (lane % 4) + j % 2,
            d_b[lane].value[j]);
      }
    });
  }
  // 16 dims of a key: d_u as an operand [queries x dims], and what it adds to d_b.
  HEADWAY_DEVICE void multiply_values(const Warp& warp, const KeyOperands& of, int dim,
                                      Lanes<Words4>& d_u, Lanes<Floats4>& d_b) {
    const int half = dim / 16 % 2 * 2;
    HEADWAY_UNROLL
    for (int n = 0; n < 2; ++n) {
      Lanes<Words1> b;
      Lanes<Floats4> u;
      warp.lanes([&](int lane) { b[lane].word[0] = of.turned[lane].word[half + n]; });
      multiply_bf16_short(warp, u, of.weights, b);
      warp.lanes([&](int lane) {
        HEADWAY_UNROLL
        for (int j = 0; j < 2; ++j) {
          const int at = at_passed(lane / 4 + 8 * j, of.key, dim + 8 * n + 2 * (lane % 4));
          const std::uint32_t d_z = get_pair(passed_, at);
          const float low = u[lane].value[2 * j];
          const float high = u[lane].value[2 * j + 1];
          put_pair(passed_, at, Phi::pair(low, high));
          d_u[lane].word[2 * n + j] = Phi::slopes_times(low, high, d_z);
        }
      });
    }
    Lanes<Words2> v;
    warp.lanes([&](int lane) {
      const int at = of.key * kValueRow + lane / 4 * kValueHead + dim + 2 * (lane % 4);
      v[lane].word[0] = get_pair(value_, at);
      v[lane].word[1] = get_pair(value_, at + 8);
    });
    multiply_bf16(warp, d_b, d_u, v);
  }

  // d_weight_ = d_b, z . d_output added: a warp's two queries.
  HEADWAY_DEVICE void add_outputs(const Warp& warp) {
    HEADWAY_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int query = 2 * warp.index() + i;
      Lanes<Floats4> d_b;
      HEADWAY_UNROLL
      for (int dim = 0; dim < dims; dim += 32) {
        Lanes<Words4> rows;
        load_matrices(warp, d_output_, rows_of_heads(query * kValueRow + dim), rows);
        HEADWAY_UNROLL
        for (int half = 0; half < 2; ++half) {
          Lanes<Words4> z;
          load_matrices(
              warp, passed_,
              [&](int lane) {
                return at_passed(query, lane % 16, dim + 16 * half + 8 * (lane / 16));
              },
              z);
          Lanes<Words2> b;
          warp.lanes([&](int lane) {
            b[lane].word[0] = rows[lane].word[2 * half];
            b[lane].word[1] = rows[lane].word[2 * half + 1];
          });
          multiply_bf16(warp, d_b, z, b);
        }
      }
      warp.lanes([&](int lane) {
        HEADWAY_UNROLL
        for (int j = 0; j < 4; ++j) {
          add(d_weight_, at_pair(query, lane / 4 + 8 * (j / 2)) + 2 * (lane % 4) + j % 2,
              d_b[lane].value[j]);
        }
      });
    }
  }

  const GradientArguments<Bf16>& gradients_;
  const Shared<Bf16> value_;      // [key][head][dv]
  const Shared<Bf16> d_output_;   // [query][head][dv]
  const Shared<float> score_;     // [query][key][head], and the pair's factor
  const Shared<float> d_weight_;  // [query][key][head]
  const Shared<Bf16> weight_;     // b, [key][query][head]
  const Shared<Bf16> passed_;     // [query][key][dim]
  // The last, so that all others lie at places which are known when the text is compiled.
  const Shared<Bf16> query_;  // [query][head][d]
};

}  // namespace headway::training::HEADWAY_GPU
