#pragma once

#include "training/kernels/cuda/attention_large_gradient.hpp"

namespace headway::training::HEADWAY_GPU {

/// What the launches of a backward pass hand on, behind the sums over keys: room for the gradients
/// of the scores of a chunk, then, where there are several chunks, the sums of the gradients of
/// keys and values so far, [B, Sk, H, d] and [B, Sk, H, dv].
struct LargeWorkspace {
  Global<float> scores, keys, values;
};

/// Gradients of a tile of keys and values, of a run of examples one after the other (block x: run
/// of examples and tile), from a chunk of queries, 16 at a time. Sums stay in registers. After the
/// steps of LargeGradient come
///   d_s       a thread a pair, which adds it to its run's copy of the gradient of the bias
///   d_key     a warp a head: [keys x queries] [queries x d]
/// d_s, in bf16, is also left in memory as LargeQueryGradient wants it: 16 bytes a pair, the only
/// thing that leaves the block. Nothing is added to by two blocks, so the bits are the same always.
/// The next rows of d_output are copied during the last two steps.
template <int dims, typename Phi>
class LargeBackward : private LargeGradient<dims, Phi> {
  using Base = LargeGradient<dims, Phi>;
  using Base::block_;
  using Base::d_weight_;
  using Base::example_;
  using Base::first_key_;
  using Base::first_query_;
  using Base::gradients_;
  using Base::kFactor;
  using Base::kHeads;
  using Base::kMostSteps;
  using Base::kSide;
  using Base::kWarps;
  using Base::queries_;
  using Base::score_;
  using Base::x_;

 public:
  template <typename Memory>
  HEADWAY_DEVICE LargeBackward(Block& block, Memory& memory,
                               const AttentionArguments<Bf16>& arguments,
                               const GradientArguments<Bf16>& gradients)
      : Base(block, memory, arguments, gradients), d_score_(Base::passed_) {}

  HEADWAY_DEVICE void run(const QueryChunk& chunk, const LargeWorkspace& work) {
    chunk_ = chunk;
    // The first keys of each run of examples come first: where pairs are causal these have most to
    // do, and what comes last fills the gaps.
    const int groups = block_.blocks_of_run() / ceiling(x_.keys, kSide);
    const int group = block_.x() / block_.blocks_of_run() * groups + block_.x_of_run() % groups;
    first_key_ = block_.x_of_run() / groups * kSide;
    first_seen_ = first_tile_that_sees();
    const int begin = first_seen_ > chunk_.first ? first_seen_ : chunk_.first;
    const auto example_at = [&](int of_group) {
      return static_cast<int>(static_cast<std::int64_t>(of_group) * x_.batch / x_.plan.groups);
    };
    first_example_ = example_at(group);
    if (!(gradients_.bias_sums == nullptr)) clear_hidden(bias_copy(group), begin);
    if (begin >= chunk_.end) return;  // no query of the chunk sees a key of the tile
    for (example_ = first_example_; example_ < example_at(group + 1); ++example_) {
      run_example(group, begin, work);
    }
  }

 private:
  static constexpr int kGradientQuery = kSide + 8;  // numbers of d_score_ from query to query
  struct KeySums {
    Floats4 sum[2 * kMostSteps];  // of the warp's head: keys by dims
  };

  // The first query of the first tile that sees a key of the tile.
  HEADWAY_DEVICE int first_tile_that_sees() const {
    const int first = x_.options.causal ? first_key_ - (x_.keys - x_.queries) : 0;
    return first > 0 ? first / kSide * kSide : 0;
  }

  HEADWAY_DEVICE void run_example(int group, int begin, const LargeWorkspace& work) {
    WarpLanes<typename Base::Values, kWarps> values;
    WarpLanes<KeySums, kWarps> sums;
    block_.warps_afresh([&](const Warp& warp) {
      warp.lanes([&](int lane) {
        Base::copy_values(32 * warp.index() + lane, first_key_);
        Base::copy_d_output(32 * warp.index() + lane, begin);
      });
      if (first_seen_ >= chunk_.first) return;  // no chunk before has sums of these keys
      move_keys(warp, sums[warp], rows_between(kHeads * x_.query_dim),
                [&](float& sum, std::int64_t i) { sum = get(work.keys, i); });
      move_values(warp, values[warp], rows_between(kHeads * dims),
                  [&](float& sum, std::int64_t i) { sum = get(work.values, i); });
    });
    for (int query = begin; query < chunk_.end; query += kSide) {
      Base::choose_queries(query);
      block_.threads_afresh([&](int thread) {
        Base::copy_queries(thread, query);
        wait_for_copies<0>();
      });
      Base::multiply_scores();
      block_.threads_afresh([&](int thread) { Base::weigh(thread); });
      Base::output_gradient();
      Base::template differentiate<true>(values);
      block_.warps_afresh([&](const Warp& warp) { Base::add_outputs(warp); });
      block_.threads_afresh([&](int thread) {
        if (query + kSide < chunk_.end) Base::copy_d_output(thread, query + kSide);
        score_gradient(thread, bias_copy(group));
      });
      block_.warps_afresh([&](const Warp& warp) {
        add_keys(warp, sums[warp]);
        hand_on(warp, work.scores);
      });
    }
    block_.warps_afresh([&](const Warp& warp) { store(warp, work, sums[warp], values[warp]); });
  }

  // d_s by the formulas of ValueGradient::score_gradient, in terms of s and the factor of b =
  // factor s: of RMSHead factor (d_b - s mean_h s d_b / (mean_h s^2 + epsilon)).
  HEADWAY_DEVICE void score_gradient(int pair, std::int64_t copy) {
    const int query = pair / kSide;
    const int key = pair % kSide;
    const int at = Base::at_pair(query, key);
    const float factor = get(score_, at + kFactor);
    float s[kHeads];
    float d_s[kHeads];  // first d_b
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      s[h] = get(score_, at + h);
      d_s[h] = get(d_weight_, at + h);
    }
    if (Base::softmax()) {
      HEADWAY_UNROLL
      for (int h = 0; h < kHeads; ++h) {
        const float sum =
            query < queries_ ? get(gradients_.known_over_keys, Base::query_at(h, query)) : 0.0F;
        d_s[h] = s[h] * (factor * d_s[h] - sum);
      }
    } else {
      float mean = 0.0F;
      if (Base::rms_head()) {
        HEADWAY_UNROLL
        for (int h = 0; h < kHeads; ++h) mean += s[h] * d_s[h];
        const float r = Base::inverse_norm(Base::sum_of_squares(s));
        mean = mean / kHeads * (r * r);
      }
      HEADWAY_UNROLL
      for (int h = 0; h < kHeads; ++h) d_s[h] = factor * (d_s[h] - s[h] * mean);
    }
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      put(d_score_, (h * kSide + query) * kGradientQuery + key, d_s[h]);
    }
    if (gradients_.bias_sums == nullptr || query >= queries_ || first_key_ + key >= x_.keys) return;
    const std::int64_t step = static_cast<std::int64_t>(x_.queries) * x_.keys;
    const Global<float> to = gradients_.bias_sums + (copy + Base::bias_at(0, query, key));
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      const float before = example_ == first_example_ ? 0.0F : get(to, h * step);
      put(to, h * step, before + d_s[h]);
    }
  }
  // Where the run's copy of the gradient of the bias begins.
  HEADWAY_DEVICE std::int64_t bias_copy(int group) const {
    return static_cast<std::int64_t>(group) * kHeads * x_.queries * x_.keys;
  }
  // 0 for the queries of the chunk before `begin`, which see no key of the tile.
  HEADWAY_DEVICE void clear_hidden(std::int64_t copy, int begin) {
    const int end = begin < chunk_.end ? begin : chunk_.end;
    const int keys = x_.keys - first_key_ < kSide ? x_.keys - first_key_ : kSide;
    for (int head = 0; head < kHeads; ++head) {
      for_each(block_, end - chunk_.first, keys, [&](int query, int key) {
        put(gradients_.bias_sums, copy + Base::bias_at(head, chunk_.first + query, key), 0.0F);
      });
    }
  }

  // d_key += d_s^T q of the warp's head.
  HEADWAY_DEVICE void add_keys(const Warp& warp, Lanes<KeySums>& sums) {
    Lanes<Words4> d_s;  // [keys x queries]
    load_turned(
        warp, d_score_,
        [&](int lane) {
          return (warp.index() * kSide + lane % 8 + 8 * (lane / 16)) * kGradientQuery +
                 8 * (lane / 8 % 2);
        },
        d_s);
    HEADWAY_UNROLL
    for (int step = 0; step < kMostSteps; ++step) {
      if (16 * step >= x_.query_dim) continue;
      Lanes<Words4> rows;
      load_turned(
          warp, Base::query_,
          [&](int lane) {
            return lane % 16 * Base::query_row_ + warp.index() * x_.query_dim + 16 * step +
                   8 * (lane / 16);
          },
          rows);
      HEADWAY_UNROLL
      for (int n = 0; n < 2; ++n) {
        Lanes<Words2> q;
        Lanes<Floats4> sum;
        warp.lanes([&](int lane) {
          q[lane].word[0] = rows[lane].word[2 * n];
          q[lane].word[1] = rows[lane].word[2 * n + 1];
          sum[lane] = sums[lane].sum[2 * step + n];
        });
        multiply_bf16(warp, sum, d_s, q);
        warp.lanes([&](int lane) { sums[lane].sum[2 * step + n] = sum[lane]; });
      }
    }
  }

  // d_s of the warp's head as an operand [queries x keys], word by word of all lanes: of [B, tile
  // of queries of the chunk, tile of keys, head].
  HEADWAY_DEVICE void hand_on(const Warp& warp, Global<float> to) const {
    Lanes<Words4> d_s;
    load_matrices(
        warp, d_score_,
        [&](int lane) {
          return (warp.index() * kSide + lane % 16) * kGradientQuery + 8 * (lane / 16);
        },
        d_s);
    const int query_tiles = ceiling(chunk_.end - chunk_.first, kSide);
    const std::int64_t tile = (static_cast<std::int64_t>(example_) * query_tiles +
                               (first_query_ - chunk_.first) / kSide) *
                                  ceiling(x_.keys, kSide) +
                              first_key_ / kSide;
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int j = 0; j < 4; ++j) {
        put_bits(to, (tile * kHeads + warp.index()) * 128 + 32 * j + lane,
                 float_of(d_s[lane].word[j]));
      }
    });
  }

  // --- sums from and to memory ----------------------------------------------------------------

  // Steps between tokens of [B, Sk, row].
  HEADWAY_DEVICE TokenSteps rows_between(int row) const {
    return {row, static_cast<std::int64_t>(row) * x_.keys};
  }
  // work(sum, its place in an array with these steps) for every sum of a key that there is.
  template <typename Work>
  HEADWAY_DEVICE void move_keys(const Warp& warp, Lanes<KeySums>& sums, const TokenSteps& steps,
                                const Work& work) const {
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int key = first_key_ + lane / 4 + 8 * half;
        if (key >= x_.keys) continue;
        const std::int64_t first = example_ * steps.example + key * steps.token +
                                   warp.index() * x_.query_dim + 2 * (lane % 4);
        HEADWAY_UNROLL
        for (int i = 0; i < 4 * kMostSteps; ++i) {  // two of eight dims
          if (i / 4 * 16 >= x_.query_dim) continue;
          const int dim = i / 2 * 8 + i % 2;
          work(sums[lane].sum[i / 2].value[2 * half + i % 2], first + dim);
        }
      }
    });
  }
  // The same of values.
  template <typename Work>
  HEADWAY_DEVICE void move_values(const Warp& warp, Lanes<typename Base::Values>& sums,
                                  const TokenSteps& steps, const Work& work) const {
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int of_warp = 0; of_warp < 2; ++of_warp) {
        const int key = first_key_ + 2 * warp.index() + of_warp;
        if (key >= x_.keys) continue;
        const int place = 2 * (lane % 4) * dims + lane / 4;
        const std::int64_t first = example_ * steps.example + key * steps.token + place;
        HEADWAY_UNROLL
        for (int i = 0; i < dims / 4; ++i) {  // of 16 dims two of one head and two of the next
          const int more = i % 2 * dims + i / 4 * 16 + i / 2 % 2 * 8;
          work(sums[lane].sum[of_warp][i / 4].value[i % 4], first + more);
        }
      }
    });
  }

  // What the last chunk adds up are the gradients, where the layer has them.
  HEADWAY_DEVICE void store(const Warp& warp, const LargeWorkspace& work, Lanes<KeySums>& keys,
                            Lanes<typename Base::Values>& values) const {
    if (chunk_.end < x_.queries) {
      move_keys(warp, keys, rows_between(kHeads * x_.query_dim),
                [&](float sum, std::int64_t i) { put(work.keys, i, sum); });
      move_values(warp, values, rows_between(kHeads * dims),
                  [&](float sum, std::int64_t i) { put(work.values, i, sum); });
      return;
    }
    const float scale = Base::scale();
    move_keys(warp, keys, x_.key_steps,
              [&](float sum, std::int64_t i) { put(gradients_.key, i, scale * sum); });
    move_values(warp, values, x_.value_steps,
                [&](float sum, std::int64_t i) { put(gradients_.value, i, sum); });
  }

  const Shared<Bf16> d_score_;  // [head][query][key]: where z was
  QueryChunk chunk_ = {};
  int first_example_ = 0;  // of the block
  int first_seen_ = 0;     // query, whatever the chunk
};

}  // namespace headway::training::HEADWAY_GPU
