#pragma once

#include "training/kernels/cuda/attention_arguments.hpp"
#include "training/kernels/cuda/tile_product.hpp"

namespace headway::training::HEADWAY_GPU {

/// Sizes of a block of the kernels for large layers: 16 queries by 16 keys at a time, of eight
/// heads.
struct LargeTile {
  static constexpr int kSide = 16;
  static constexpr int kHeads = 8;
  static constexpr int kWarps = 8;
  static constexpr int kMostSteps = 4;          // of 16 dims of queries and keys
  static constexpr int kPadding = 8;            // numbers; rows then begin in different banks
  static_assert(32 * kWarps == kSide * kSide);  // a thread has one pair
};

/// Queries of which a launch makes the gradients, first ... end - 1.
struct QueryChunk {
  int first, end;
};

/// What the kernels for large layers share: the place of a tile of pairs, how it gets there, and
/// which of its pairs are seen. `dims` are those of values. Rows of tokens in shared memory have
/// padding after each token (queries, keys), or after each head (values and their like, whose heads
/// are the rows of a product).
template <int dims>
class LargePairs : protected LargeTile {
 protected:
  static constexpr int kValueHead = dims + kPadding;  // numbers from head to head of a value
  static constexpr int kValueRow = kHeads * kValueHead;

  HEADWAY_DEVICE LargePairs(Block& block, const AttentionArguments<Bf16>& arguments)
      : block_(block), x_(arguments), query_row_(kHeads * arguments.query_dim + kPadding) {}

  HEADWAY_DEVICE bool softmax() const {
    return x_.options.normalisation == Normalisation::kSoftmax;
  }
  HEADWAY_DEVICE bool rms_head() const {
    return x_.options.normalisation == Normalisation::kRmsHead;
  }
  // 1 / sqrt(d): scores are products of queries and keys times this.
  HEADWAY_DEVICE float scale() const { return 1.0F / sqrtf(static_cast<float>(x_.query_dim)); }

  HEADWAY_DEVICE void choose_queries(int first) {
    first_query_ = first;
    queries_ = x_.queries - first < kSide ? x_.queries - first : kSide;
  }
  // Keys before the end of those that any of the chosen queries sees.
  HEADWAY_DEVICE int end_of_keys() const {
    if (!x_.options.causal) return x_.keys;
    const int end = first_query_ + queries_ + x_.keys - x_.queries;
    return end < x_.keys ? end : x_.keys;
  }

  // --- what comes from memory ---------------------------------------------------------------

  // Tokens `first` ... of an array; the last one again beyond `count` tokens.
  struct Tokens {
    Global<const Bf16> from;
    TokenSteps steps;
    int first, count;
  };
  // 16 tokens as copies under way, each of `parts` parts of `part` numbers.
  HEADWAY_DEVICE void copy_tokens(int thread, const Tokens& tokens, int parts, int part,
                                  Shared<Bf16> to) const {
    const int eights = parts * part / 8;
    for (int i = thread; i < kSide * eights; i += block_.size()) {
      const int row = i / eights;
      const int column = i % eights * 8;
      const int token = tokens.first + row < tokens.count ? tokens.first + row : tokens.count - 1;
      copy8(to, row * parts * (part + kPadding) + column / part * (part + kPadding) + column % part,
            tokens.from, example_ * tokens.steps.example + token * tokens.steps.token + column);
    }
  }
  HEADWAY_DEVICE void copy_keys(int thread, int first, Shared<Bf16> to) const {
    copy_tokens(thread, {x_.key, x_.key_steps, first, x_.keys}, 1, kHeads * x_.query_dim, to);
  }
  HEADWAY_DEVICE void copy_queries(int thread, int first, Shared<Bf16> to) const {
    copy_tokens(thread, {x_.query, x_.query_steps, first, x_.queries}, 1, kHeads * x_.query_dim,
                to);
  }
  HEADWAY_DEVICE void copy_values(int thread, int first, Shared<Bf16> to) const {
    copy_tokens(thread, {x_.value, x_.value_steps, first, x_.keys}, kHeads, dims, to);
  }

  // --- pairs of the tile ----------------------------------------------------------------------

  HEADWAY_DEVICE bool visible(int query, int key) const {
    const int k = first_key_ + key;
    if (query >= queries_ || k >= x_.keys) return false;
    if (x_.options.causal && k > first_query_ + query + x_.keys - x_.queries) return false;
    if (x_.key_mask == nullptr) return true;
    return get_bits(x_.key_mask, static_cast<std::int64_t>(example_) * x_.keys + k) != 0;
  }
  HEADWAY_DEVICE float bias(int head, int query, int key) const {
    if (x_.bias == nullptr) return 0.0F;
    return get(x_.bias, bias_at(head, query, key));
  }
  // In [H, Sq, Sk].
  HEADWAY_DEVICE std::int64_t bias_at(int head, int query, int key) const {
    return (static_cast<std::int64_t>(head) * x_.queries + first_query_ + query) * x_.keys +
           first_key_ + key;
  }
  // In [B, H, Sq].
  HEADWAY_DEVICE std::int64_t query_at(int head, int query) const {
    return (static_cast<std::int64_t>(example_) * kHeads + head) * x_.queries + first_query_ +
           query;
  }
  HEADWAY_DEVICE float dropout(int query, int key) const {
    return dropout_of(x_.dropout, first_query_ + query, first_key_ + key, x_.keys);
  }
  // Scores of a warp's head: products of 16 queries with 8 keys, twice. `place`: where a pair's
  // heads begin.
  template <typename Place>
  HEADWAY_DEVICE void put_scores(const Warp& warp, const Lanes<Floats4> (&sum)[2], Shared<float> to,
                                 const Place& place) const {
    const float factor = scale();
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int i = 0; i < 8; ++i) {
        const int query = lane / 4 + 8 * (i / 2 % 2);
        const int key = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
        put(to, place(query, key) + warp.index(), factor * sum[i / 4][lane].value[i % 4]);
      }
    });
  }
  // RMSHead's 1 / sqrt(mean over heads of s^2 + epsilon), from the sum of the squares.
  static HEADWAY_DEVICE float inverse_norm(float squares) {
    return 1.0F / sqrtf(squares / kHeads + static_cast<float>(kRmsHeadEpsilon));
  }

  Block& block_;
  const AttentionArguments<Bf16>& x_;
  const int query_row_;  // numbers from token to token of queries and keys
  int example_ = 0;
  int first_query_ = 0, queries_ = 0;
  int first_key_ = 0;
};

}  // namespace headway::training::HEADWAY_GPU
