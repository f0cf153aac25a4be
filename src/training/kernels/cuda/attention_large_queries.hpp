#pragma once

#include "training/kernels/cuda/attention_large_tile.hpp"

namespace headway::training::HEADWAY_GPU {

/// Gradients of the queries of a chunk, 32 at a time (block x: example and tile; a warp a head:
/// [queries x keys] [keys x d]), from the gradients of scores that LargeBackward has left. The next
/// keys are copied, and the next gradients loaded, while those at hand are multiplied.
class LargeQueryGradient : private LargePairs<32> {
  using Base = LargePairs<32>;

 public:
  static constexpr int kTiles = 2;  // of 16 queries
  static HEADWAY_BOTH int shared_bytes(int query_dim) {
    return 2 * kSide * (kHeads * query_dim + kPadding) * static_cast<int>(sizeof(Bf16));
  }

  template <typename Memory>
  HEADWAY_DEVICE LargeQueryGradient(Block& block, Memory& memory,
                                    const AttentionArguments<Bf16>& arguments,
                                    const GradientArguments<Bf16>& gradients)
      : Base(block, arguments),
        gradients_(gradients),
        key_(memory.template take<Bf16>("two tiles of keys", 2 * kSide * query_row_)) {}

  HEADWAY_DEVICE void run(const QueryChunk& chunk, Global<const float> scores) {
    const int tiles = ceiling(chunk.end - chunk.first, kTiles * kSide);
    example_ = block_.x() / tiles;
    const int first_tile = block_.x() % tiles * kTiles;
    const int query_tiles = ceiling(chunk.end - chunk.first, kSide);
    const int key_tiles = ceiling(x_.keys, kSide);
    int ends[kTiles];  // tiles of keys that each tile of queries sees
    Global<const float> from[kTiles];
    HEADWAY_UNROLL
    for (int m = 0; m < kTiles; ++m) {
      choose_queries(chunk.first + (first_tile + m) * kSide);
      ends[m] = first_query_ < chunk.end ? ceiling(end_of_keys(), kSide) : 0;
      from[m] = scores + (static_cast<std::int64_t>(example_) * query_tiles + first_tile + m) *
                             key_tiles * kHeads * 128;
    }
    first_query_ = chunk.first + first_tile * kSide;
    end_query_ = chunk.end;
    multiply(ends, from);
  }

 private:
  struct Sums {
    Floats4 sum[kTiles][2 * kMostSteps];  // queries by dims
  };
  struct Scores {
    Words4 tile[kTiles];
  };

  HEADWAY_DEVICE void multiply(const int (&ends)[kTiles],
                               const Global<const float> (&from)[kTiles]) {
    WarpLanes<Sums, kWarps> sums;
    WarpLanes<Scores, kWarps> next;
    const int end = ends[0] > ends[1] ? ends[0] : ends[1];
    const auto load = [&](const Warp& warp, int tile) {
      warp.lanes([&](int lane) {
        HEADWAY_UNROLL
        for (int i = 0; i < 4 * kTiles; ++i) {
          const std::int64_t at = (tile * kHeads + warp.index()) * 128 + 32 * (i % 4) + lane;
          next[warp][lane].tile[i / 4].word[i % 4] =
              tile < ends[i / 4] ? bits_of(get_bits(from[i / 4], at)) : 0U;
        }
      });
    };
    block_.warps([&](const Warp& warp) {
      load(warp, 0);
      warp.lanes([&](int lane) {
        if (end > 0) copy_keys(32 * warp.index() + lane, 0, key_);
        wait_all();
      });
    });
    for (int tile = 0; tile < end; ++tile) {
      block_.warps([&](const Warp& warp) {
        const Lanes<Scores> d_s = next[warp];
        load(warp, tile + 1);
        warp.lanes([&](int lane) {
          if (tile + 1 < end) {
            copy_keys(32 * warp.index() + lane, (tile + 1) * kSide, half_of_keys(tile + 1));
          }
        });
        add_tile(warp, half_of_keys(tile), d_s, sums[warp]);
        warp.lanes([](int) { wait_all(); });
      });
    }
    block_.warps([&](const Warp& warp) { store(warp, sums[warp]); });
  }
  static HEADWAY_DEVICE void wait_all() {
    commit_copies();
    wait_for_copies<0>();
  }
  HEADWAY_DEVICE Shared<Bf16> half_of_keys(int tile) const {
    const int place = tile % 2 * kSide * query_row_;
    return key_ + place;
  }

  HEADWAY_DEVICE void add_tile(const Warp& warp, Shared<Bf16> keys, const Lanes<Scores>& d_s,
                               Lanes<Sums>& sums) const {
    HEADWAY_UNROLL
    for (int step = 0; step < kMostSteps; ++step) {
      if (16 * step >= x_.query_dim) continue;
      Lanes<Words4> rows;
      load_turned(
          warp, keys,
          [&](int lane) {
            return lane % 16 * query_row_ + warp.index() * x_.query_dim + 16 * step +
                   8 * (lane / 16);
          },
          rows);
      HEADWAY_UNROLL
      for (int i = 0; i < 2 * kTiles; ++i) {
        Lanes<Words4> a;
        Lanes<Words2> b;
        Lanes<Floats4> sum;
        const int m = i / 2;
        const int n = i % 2;
        warp.lanes([&](int lane) {
          a[lane] = d_s[lane].tile[m];
          b[lane].word[0] = rows[lane].word[2 * n];
          b[lane].word[1] = rows[lane].word[2 * n + 1];
          sum[lane] = sums[lane].sum[m][2 * step + n];
        });
        multiply_bf16(warp, sum, a, b);
        warp.lanes([&](int lane) { sums[lane].sum[m][2 * step + n] = sum[lane]; });
      }
    }
  }

  HEADWAY_DEVICE void store(const Warp& warp, const Lanes<Sums>& sums) const {
    const float scale = this->scale();
    const bool dense = gradients_.query == nullptr;
    const TokenSteps& steps = dense ? gradients_.query_sum_steps : x_.query_steps;
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int i = 0; i < 8 * kMostSteps * kTiles; ++i) {
        const int j = i % (8 * kMostSteps);
        const int query = first_query_ + i / (8 * kMostSteps) * kSide + lane / 4 + 8 * (j / 2 % 2);
        const int dim = 8 * (j / 4) + 2 * (lane % 4) + j % 2;
        if (j / 8 * 16 >= x_.query_dim || query >= end_query_) continue;
        const int place = warp.index() * x_.query_dim + dim;
        const std::int64_t to = example_ * steps.example + query * steps.token + place;
        const float sum = scale * sums[lane].sum[i / (8 * kMostSteps)][j / 4].value[j % 4];
        if (dense) {
          put(gradients_.query_sums, to, sum);
        } else {
          put(gradients_.query, to, sum);
        }
      }
    });
  }

  const GradientArguments<Bf16>& gradients_;
  const Shared<Bf16> key_;  // two of [key][head][d]
  int end_query_ = 0;       // of the chunk
};

}  // namespace headway::training::HEADWAY_GPU
