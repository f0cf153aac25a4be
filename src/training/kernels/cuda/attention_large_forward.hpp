#pragma once

#include "training/kernels/cuda/attention_large_tile.hpp"

namespace headway::training::HEADWAY_GPU {

/// The forward pass of HYLA in bf16 on tensor cores, for large layers (block x: example and
/// tile of queries; u and o as in eq. 6). Each key tile takes four steps with a barrier after each:
///   scores    a warp a head: [queries x d] [d x keys]
///   weights   a thread a pair
///   u         a warp two keys: for each key [queries x heads] [heads x dv], then phi(u) to shared
///             memory
///   o         a warp two queries: for each query [dv x keys] [keys x heads], sums in registers
/// The next keys are copied from the end of the first step on, the next values from the end of the
/// third, while the rest goes on. Queries stay in registers as operands. Softmax sweeps over the
/// keys once before, for the log of its sum.
template <int dims, typename Phi>
class LargeForward : private LargePairs<dims> {
  using Base = LargePairs<dims>;
  using Base::block_;
  using Base::example_;
  using Base::first_key_;
  using Base::first_query_;
  using Base::kHeads;
  using Base::kMostSteps;
  using Base::kSide;
  using Base::kValueHead;
  using Base::kValueRow;
  using Base::kWarps;
  using Base::queries_;
  using Base::query_row_;
  using Base::x_;

 public:
  template <typename Memory>
  HEADWAY_DEVICE LargeForward(Block& block, Memory& memory,
                              const AttentionArguments<Bf16>& arguments)
      : Base(block, arguments),
        value_(memory.template take<Bf16>("value tile", kSide * kValueRow)),
        score_(memory.template take<float>("scores", kSide * kScoreKey)),
        weight_(memory.template take<Bf16>("weights", kSide * kWeightKey)),
        made_(memory.template take<Bf16>("phi(u)", kSide * kMadeQuery)),
        largest_(memory.template take<float>("largest", kSide * kHeads)),
        log_sum_(memory.template take<float>("log sum", kSide * kHeads)),
        key_(memory.template take<Bf16>("key tile", kSide * query_row_)) {}

  HEADWAY_DEVICE void run() {
    Base::choose_block();
    end_ = Base::end_of_keys();
    WarpLanes<Queries, kWarps> queries;
    WarpLanes<Output, kWarps> outputs;
    block_.warps([&](const Warp& warp) { load_queries(warp, queries[warp]); });
    if (Base::softmax()) find_log_sums(queries);
    block_.threads([&](int thread) {
      copy_keys(thread, 0);
      copy_values(thread, 0);
      wait_for_copies<1>();
    });
    for (first_key_ = 0; first_key_ < end_; first_key_ += kSide) {
      multiply_scores(queries);
      block_.threads([&](int thread) {
        copy_keys(thread, first_key_ + kSide);
        weigh(thread);
        wait_for_copies<1>();  // the values of this tile
      });
      generate();
      block_.warps([&](const Warp& warp) {
        warp.lanes([&](int lane) { copy_values(32 * warp.index() + lane, first_key_ + kSide); });
        add_outputs(warp, outputs[warp]);
        warp.lanes([](int) { wait_for_copies<1>(); });  // the next keys
      });
    }
    block_.warps([&](const Warp& warp) {
      warp.lanes([](int) { wait_for_copies<0>(); });
      store(warp, outputs[warp]);
    });
  }

 private:
  // Steps between rows are such that lanes meet different banks.
  static constexpr int kScorePair = kHeads + 1;             // floats from query to query
  static constexpr int kScoreKey = kSide * kScorePair + 4;  // from key to key
  static constexpr int kWeightKey = kSide * kHeads + 8;     // numbers from key to key
  static constexpr int kMadeKey = dims + 8;                 // numbers from key to key
  static constexpr int kMadeQuery = kSide * kMadeKey + 8;   // from query to query
  static constexpr int kTiles = dims / 16;                  // of o, 16 dims each
  struct Queries {
    Words4 word[kMostSteps];
  };
  struct Output {
    Floats4 sum[2][kTiles];  // of two queries: dims by heads
  };

  static HEADWAY_DEVICE int at_pair(int query, int key) {
    return key * kScoreKey + query * kScorePair;
  }

  // --- what comes from memory -----------------------------------------------------------------

  // Of the warp's head, as operands; the last one again beyond the last.
  HEADWAY_DEVICE void load_queries(const Warp& warp, Lanes<Queries>& queries) const {
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int i = 0; i < 4 * kMostSteps; ++i) {
        const int dim = i / 4 * 16 + 2 * (lane % 4) + 8 * (i / 2 % 2);
        if (i / 4 * 16 >= x_.query_dim) continue;
        const int row = lane / 4 + 8 * (i % 2);
        const int query = first_query_ + (row < queries_ ? row : queries_ - 1);
        const std::int64_t from = example_ * x_.query_steps.example + query * x_.query_steps.token +
                                  warp.index() * x_.query_dim + dim;
        queries[lane].word[i / 4].word[i % 4] = get_pair(x_.query, from);
      }
    });
  }
  // A tile of keys, or values, as a group of copies.
  HEADWAY_DEVICE void copy_keys(int thread, int first) const {
    if (first < end_) Base::copy_keys(thread, first, key_);
    commit_copies();
  }
  HEADWAY_DEVICE void copy_values(int thread, int first) const {
    if (first < end_) Base::copy_values(thread, first, value_);
    commit_copies();
  }

  // --- scores and weights ---------------------------------------------------------------------

  HEADWAY_DEVICE void multiply_scores(WarpLanes<Queries, kWarps>& queries) {
    block_.warps([&](const Warp& warp) {
      const Lanes<Queries>& mine = queries[warp];
      Lanes<Floats4> sum[2];
      HEADWAY_UNROLL
      for (int step = 0; step < kMostSteps; ++step) {
        if (16 * step >= x_.query_dim) continue;
        Lanes<Words4> a;
        Lanes<Words4> keys;
        load_matrices(
            warp, key_,
            [&](int lane) {
              return (lane % 8 + 8 * (lane / 16)) * query_row_ + warp.index() * x_.query_dim +
                     16 * step + 8 * (lane / 8 % 2);
            },
            keys);
        warp.lanes([&](int lane) { a[lane] = mine[lane].word[step]; });
        HEADWAY_UNROLL
        for (int n = 0; n < 2; ++n) {
          Lanes<Words2> b;
          warp.lanes([&](int lane) {
            b[lane].word[0] = keys[lane].word[2 * n];
            b[lane].word[1] = keys[lane].word[2 * n + 1];
          });
          multiply_bf16(warp, sum[n], a, b);
        }
      }
      Base::put_scores(warp, sum, score_, [](int query, int key) { return at_pair(query, key); });
    });
  }

  // The weights of a pair after dropout (eqs. 2 to 4).
  HEADWAY_DEVICE void weigh(int pair) const {
    const int query = pair % kSide;
    const int key = pair / kSide;
    float a[kHeads] = {};
    float factor = 0.0F;
    if (Base::visible(query, key)) {
      Base::load_scores(score_, at_pair(query, key), query, key, a);
      factor = Base::dropout(query, key);
      if (Base::rms_head()) factor *= Base::inverse_norm(Base::sum_of_squares(a));
      if (Base::softmax()) {
        HEADWAY_UNROLL
        for (int h = 0; h < kHeads; ++h) a[h] = expf(a[h] - get(log_sum_, h * kSide + query));
      }
    }
    Base::put_weights(weight_, key * kWeightKey + query * kHeads, factor, a);
  }

  // log_sum_ = log sum_k exp s, +infinity where a query sees no key.
  HEADWAY_DEVICE void find_log_sums(WarpLanes<Queries, kWarps>& queries) {
    fill(block_, largest_, kSide * kHeads, -INFINITY);
    fill(block_, log_sum_, kSide * kHeads, 0.0F);  // sum_k exp(s - largest) so far
    block_.threads([&](int thread) {
      copy_keys(thread, 0);
      wait_for_copies<0>();
    });
    for (first_key_ = 0; first_key_ < end_; first_key_ += kSide) {
      multiply_scores(queries);
      block_.threads([&](int thread) {
        copy_keys(thread, first_key_ + kSide);
        if (thread < kSide * kHeads) add_to_sum(thread / kSide, thread % kSide);
        wait_for_copies<0>();
      });
    }
    for_each(block_, kSide * kHeads, [&](int i) {
      const float sum = get(log_sum_, i);
      const float log_sum = sum == 0.0F ? INFINITY : get(largest_, i) + logf(sum);
      put(log_sum_, i, log_sum);
      if (i % kSide >= queries_) return;
      put(x_.log_sum_exp, Base::query_at(i / kSide, i % kSide), log_sum);
    });
  }
  HEADWAY_DEVICE void add_to_sum(int head, int query) {
    const int at = head * kSide + query;
    float largest = get(largest_, at);
    float sum = get(log_sum_, at);
    for (int key = 0; key < kSide; ++key) {
      if (!Base::visible(query, key)) continue;
      const float s = get(score_, at_pair(query, key) + head) + Base::bias(head, query, key);
      if (s > largest) {
        sum *= expf(largest - s);
        largest = s;
      }
      sum += expf(s - largest);
    }
    put(largest_, at, largest);
    put(log_sum_, at, sum);
  }

  // --- the value network ----------------------------------------------------------------------

  // phi(u) of the tile: a warp makes two keys.
  HEADWAY_DEVICE void generate() {
    block_.warps([&](const Warp& warp) {
      Lanes<Words4> weights;  // of both keys, [queries x heads]
      load_matrices(
          warp, weight_,
          [&](int lane) {
            return (2 * warp.index() + lane / 16) * kWeightKey + lane % 16 * kHeads;
          },
          weights);
      HEADWAY_UNROLL
      for (int i = 0; i < 2; ++i) {
        Lanes<Words2> of_key;
        warp.lanes([&](int lane) {
          of_key[lane].word[0] = weights[lane].word[2 * i];
          of_key[lane].word[1] = weights[lane].word[2 * i + 1];
        });
        generate_key(warp, 2 * warp.index() + i, of_key);
      }
    });
  }
  HEADWAY_DEVICE void generate_key(const Warp& warp, int key, const Lanes<Words2>& weights) {
    HEADWAY_UNROLL
    for (int dim = 0; dim < dims; dim += 32) {
      Lanes<Words4> rows;
      load_turned(
          warp, value_,
          [&](int lane) { return key * kValueRow + lane % 8 * kValueHead + dim + 8 * (lane / 8); },
          rows);
      HEADWAY_UNROLL
      for (int n = 0; n < 4; ++n) {
        Lanes<Words1> b;
        Lanes<Floats4> u;
        warp.lanes([&](int lane) { b[lane].word[0] = rows[lane].word[n]; });
        multiply_bf16_short(warp, u, weights, b);
        warp.lanes([&](int lane) {
          HEADWAY_UNROLL
          for (int j = 0; j < 2; ++j) {
            put_pair(made_, at_made(lane / 4 + 8 * j, key, dim + 8 * n + 2 * (lane % 4)),
                     Phi::pair(u[lane].value[2 * j], u[lane].value[2 * j + 1]));
          }
        });
      }
    }
  }
  static HEADWAY_DEVICE int at_made(int query, int key, int dim) {
    return query * kMadeQuery + key * kMadeKey + dim;
  }

  // o[q, h] += sum_k b phi(u): a warp's two queries.
  HEADWAY_DEVICE void add_outputs(const Warp& warp, Lanes<Output>& outputs) {
    Lanes<Words4> weights;  // of both queries, [keys x heads]
    load_turned(
        warp, weight_,
        [&](int lane) { return lane % 16 * kWeightKey + (2 * warp.index() + lane / 16) * kHeads; },
        weights);
    HEADWAY_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int query = 2 * warp.index() + i;
      Lanes<Words2> b;
      warp.lanes([&](int lane) {
        b[lane].word[0] = weights[lane].word[2 * i];
        b[lane].word[1] = weights[lane].word[2 * i + 1];
      });
      HEADWAY_UNROLL
      for (int m = 0; m < kTiles; ++m) {
        Lanes<Words4> a;
        Lanes<Floats4> sum;
        load_turned(
            warp, made_,
            [&](int lane) {
              return at_made(query, lane % 8 + 8 * (lane / 16), 16 * m + 8 * (lane / 8 % 2));
            },
            a);
        warp.lanes([&](int lane) { sum[lane] = outputs[lane].sum[i][m]; });
        multiply_bf16(warp, sum, a, b);
        warp.lanes([&](int lane) { outputs[lane].sum[i][m] = sum[lane]; });
      }
    }
  }

  HEADWAY_DEVICE void store(const Warp& warp, const Lanes<Output>& outputs) {
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int i = 0; i < 2 * kTiles * 4; ++i) {
        const int query = 2 * warp.index() + i / (4 * kTiles);
        const int e = 16 * (i / 4 % kTiles) + lane / 4 + 8 * (i / 2 % 2);
        const int head = 2 * (lane % 4) + i % 2;
        if (query >= queries_) continue;
        const std::int64_t token =
            static_cast<std::int64_t>(example_) * x_.queries + first_query_ + query;
        put(x_.output, (token * kHeads + head) * dims + e,
            outputs[lane].sum[i / (4 * kTiles)][i / 4 % kTiles].value[i % 4]);
      }
    });
  }

  const Shared<Bf16> value_;     // [key][head][dv]
  const Shared<float> score_;    // [key][query][head]
  const Shared<Bf16> weight_;    // [key][query][head]
  const Shared<Bf16> made_;      // phi(u), [query][key][dim]
  const Shared<float> largest_;  // [head][query]: of the scores so far
  const Shared<float> log_sum_;  // [head][query]
  // The last, so that all others lie at places which are known when the text is compiled.
  const Shared<Bf16> key_;  // [key][head][d]
  int end_ = 0;             // of the keys that are seen
};

}  // namespace headway::training::HEADWAY_GPU
