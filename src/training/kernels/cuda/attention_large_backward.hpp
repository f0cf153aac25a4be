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
template <int dims>
class LargeBackward : private LargeGradient<dims> {
  using Base = LargeGradient<dims>;
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
    const int tiles = ceiling(x_.keys, kSide);
    const int group = block_.x() / tiles;
    first_key_ = block_.x() % tiles * kSide;
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
      move_keys(warp, sums[warp], [&](float& sum, std::int64_t i) { sum = get(work.keys, i); });
      move_values(warp, values[warp],
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
    float d[kHeads];
    float squares = 0.0F;
    float mean = 0.0F;
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      s[h] = get(score_, at + h);
      d[h] = get(d_weight_, at + h);
      squares += s[h] * s[h];
      mean += s[h] * d[h];
    }
    const float r = Base::inverse_norm(squares);
    mean = Base::rms_head() ? mean / kHeads * (r * r) : 0.0F;
    const bool inside = query < queries_ && first_key_ + key < x_.keys;
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      float d_s = factor * (d[h] - s[h] * mean);
      if (Base::softmax()) {
        const float sum =
            query < queries_ ? get(gradients_.known_over_keys, Base::query_at(h, query)) : 0.0F;
        d_s = s[h] * (factor * d[h] - sum);
      }
      put(d_score_, (h * kSide + query) * kGradientQuery + key, d_s);
      if (!inside || gradients_.bias_sums == nullptr) continue;
      const std::int64_t to = copy + Base::bias_at(h, query, key);
      const float before = example_ == first_example_ ? 0.0F : get(gradients_.bias_sums, to);
      put(gradients_.bias_sums, to, before + d_s);
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

  // work(sum, place in [B, Sk, H, d]) for every sum of a key that there is.
  template <typename Work>
  HEADWAY_DEVICE void move_keys(const Warp& warp, Lanes<KeySums>& sums, const Work& work) const {
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int i = 0; i < 8 * kMostSteps; ++i) {
        const int key = first_key_ + lane / 4 + 8 * (i / 2 % 2);
        const int dim = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
        if (i / 8 * 16 >= x_.query_dim || key >= x_.keys) continue;
        const std::int64_t token = static_cast<std::int64_t>(example_) * x_.keys + key;
        work(sums[lane].sum[i / 4].value[i % 4],
             (token * kHeads + warp.index()) * x_.query_dim + dim);
      }
    });
  }
  // The same in [B, Sk, H, dv].
  template <typename Work>
  HEADWAY_DEVICE void move_values(const Warp& warp, Lanes<typename Base::Values>& sums,
                                  const Work& work) const {
    constexpr int kOfKey = dims / 4;  // sums of a lane
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int i = 0; i < 2 * kOfKey; ++i) {
        const int key = first_key_ + 2 * warp.index() + i / kOfKey;
        const int dim = i % kOfKey / 4 * 16 + lane / 4 + 8 * (i / 2 % 2);
        const int head = 2 * (lane % 4) + i % 2;
        if (key >= x_.keys) continue;
        const std::int64_t token = static_cast<std::int64_t>(example_) * x_.keys + key;
        work(sums[lane].sum[i / kOfKey][i % kOfKey / 4].value[i % 4],
             (token * kHeads + head) * dims + dim);
      }
    });
  }

  // What the last chunk adds up are the gradients, where the layer has them.
  HEADWAY_DEVICE void store(const Warp& warp, const LargeWorkspace& work, Lanes<KeySums>& keys,
                            Lanes<typename Base::Values>& values) const {
    if (chunk_.end < x_.queries) {
      move_keys(warp, keys, [&](float sum, std::int64_t i) { put(work.keys, i, sum); });
      move_values(warp, values, [&](float sum, std::int64_t i) { put(work.values, i, sum); });
      return;
    }
    const auto place = [&](const TokenSteps& steps, int row, std::int64_t i) {
      const std::int64_t first = static_cast<std::int64_t>(example_) * x_.keys;
      return example_ * steps.example + (i / row - first) * steps.token + i % row;
    };
    const float scale = Base::scale();
    move_keys(warp, keys, [&](float sum, std::int64_t i) {
      put(gradients_.key, place(x_.key_steps, kHeads * x_.query_dim, i), scale * sum);
    });
    move_values(warp, values, [&](float sum, std::int64_t i) {
      put(gradients_.value, place(x_.value_steps, kHeads * dims, i), sum);
    });
  }

  const Shared<Bf16> d_score_;  // [head][query][key]: where z was
  QueryChunk chunk_ = {};
  int first_example_ = 0;  // of the block
  int first_seen_ = 0;     // query, whatever the chunk
};

}  // namespace headway::training::HEADWAY_GPU
