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

  // A block has a tile of queries of an example. The last tiles of all examples of a run come
  // first: where pairs are causal these have most to do, and what comes last fills the gaps.
  HEADWAY_DEVICE void choose_block() {
    const int tiles = ceiling(x_.queries, kSide);
    const int examples = block_.blocks_of_run() / tiles;
    const int place = block_.x_of_run();
    example_ = block_.x() / block_.blocks_of_run() * examples + place % examples;
    choose_queries((tiles - 1 - place / examples) * kSide);
  }
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
  HEADWAY_DEVICE std::int64_t row_of(const Tokens& tokens, int row) const {
    const int token = tokens.first + row < tokens.count ? tokens.first + row : tokens.count - 1;
    return example_ * tokens.steps.example + token * tokens.steps.token;
  }
  // 16 tokens of queries or keys as copies under way. A token has 16 threads, which take 128
  // numbers at a time.
  HEADWAY_DEVICE void copy_tokens(int thread, const Tokens& tokens, Shared<Bf16> to) const {
    const int row = thread / kSide;
    const int column = thread % kSide * 8;
    const Global<const Bf16> from = tokens.from + (row_of(tokens, row) + column);
    const int place = row * query_row_ + column;
    HEADWAY_UNROLL
    for (int numbers = 0; numbers < 128 * kMostSteps; numbers += 128) {
      if (numbers < kHeads * x_.query_dim) copy8(to, place + numbers, from, numbers);
    }
  }
  // The same of values, or of what has their shape.
  HEADWAY_DEVICE void copy_heads(int thread, const Tokens& tokens, Shared<Bf16> to) const {
    constexpr int kHeadsAtOnce = 128 / dims;
    const int row = thread / kSide;
    const int column = thread % kSide * 8;
    const Global<const Bf16> from = tokens.from + (row_of(tokens, row) + column);
    const int place = row * kValueRow + column / dims * kValueHead + column % dims;
    HEADWAY_UNROLL
    for (int head = 0; head < kHeads; head += kHeadsAtOnce) {
      const int numbers = head * dims;
      copy8(to, place + head * kValueHead, from, numbers);
    }
  }
  HEADWAY_DEVICE void copy_keys(int thread, int first, Shared<Bf16> to) const {
    copy_tokens(thread, {x_.key, x_.key_steps, first, x_.keys}, to);
  }
  HEADWAY_DEVICE void copy_queries(int thread, int first, Shared<Bf16> to) const {
    copy_tokens(thread, {x_.query, x_.query_steps, first, x_.queries}, to);
  }
  HEADWAY_DEVICE void copy_values(int thread, int first, Shared<Bf16> to) const {
    copy_heads(thread, {x_.value, x_.value_steps, first, x_.keys}, to);
  }

  // --- pairs of the tile ----------------------------------------------------------------------

  HEADWAY_DEVICE bool visible(int query, int key) const {
    const int k = first_key_ + key;
    if (query >= queries_ || k >= x_.keys) return false;
    if (x_.options.causal && k > first_query_ + query + x_.keys - x_.queries) return false;
    if (x_.key_mask == nullptr) return true;
    return get_bits(x_.key_mask, static_cast<std::int64_t>(example_) * x_.keys + k) != 0;
  }
  // s of a pair (eq. 1): its products of queries and keys, and the bias.
  HEADWAY_DEVICE void load_scores(Shared<float> scores, int at, int query, int key,
                                  float (&s)[kHeads]) const {
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) s[h] = get(scores, at + h);
    if (x_.bias == nullptr) return;
    const std::int64_t step = static_cast<std::int64_t>(x_.queries) * x_.keys;
    const std::int64_t first = bias_at(0, query, key);
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) s[h] += get(x_.bias, first + h * step);
  }
  HEADWAY_DEVICE float bias(int head, int query, int key) const {
    return x_.bias == nullptr ? 0.0F : get(x_.bias, bias_at(head, query, key));
  }
  static HEADWAY_DEVICE float sum_of_squares(const float (&s)[kHeads]) {
    float sum = 0.0F;
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) sum += s[h] * s[h];
    return sum;
  }
  // The weights of a pair, factor times a, as operands.
  static HEADWAY_DEVICE void put_weights(Shared<Bf16> to, int at, float factor,
                                         const float (&a)[kHeads]) {
    Words4 words;
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; h += 2) {
      words.word[h / 2] = bf16_pair(factor * a[h], factor * a[h + 1]);
    }
    put8(to, at, words);
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
