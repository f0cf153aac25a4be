#pragma once

#include "training/kernels/cuda/attention_arguments.hpp"
#include "training/kernels/cuda/tile_product.hpp"

// What the kernels for narrow layers share: rows of at most 64 numbers, and so few tokens that all
// pairs of an example fit a block's shared memory. One lane has all heads and dims of a pair of
// tokens, so nothing passes between the lanes of a pair. Eight lanes share the pairs of a token,
// and add up what they found at the end. All of it is calculated in float32.
namespace headway::training::HEADWAY_GPU {

constexpr int kNarrowSlices = 8;      // lanes that share a token's pairs
constexpr float kHiddenPair = -1.0F;  // no factor of dropout is negative

/// Heads and dims of a layer, padded: missing ones count as 0.
template <int heads, int dims>
struct NarrowCut {
  static constexpr int kHeads = heads;
  static constexpr int kDims = dims;
};

template <typename T, typename Cut, bool generated>
class NarrowPairs {
 protected:
  static constexpr int kHeads = Cut::kHeads;
  static constexpr int kDims = Cut::kDims;
  static constexpr int kRow = kHeads * kDims;
  /// From one token to the next in shared memory: eight lanes that read four numbers each meet
  /// different banks.
  static constexpr int kRowStep = kRow + 4;
  static constexpr int kFour = 4;
  struct Heads {  // a number of each head
    float x[kHeads];
  };
  struct Row {
    float x[kRow];
  };

  HEADWAY_DEVICE NarrowPairs(Block& block, const AttentionArguments<T>& arguments)
      : block_(block), x_(arguments) {}

  HEADWAY_DEVICE bool rms_head() const {
    return x_.options.normalisation == Normalisation::kRmsHead;
  }
  HEADWAY_DEVICE bool visible(int query, int key) const {
    if (x_.options.causal && key > query + x_.keys - x_.queries) return false;
    if (x_.key_mask == nullptr) return true;
    return get_bits(x_.key_mask, static_cast<std::int64_t>(example_) * x_.keys + key) != 0;
  }

  // --- rows ---------------------------------------------------------------------------------

  /// An array of the layer, [B, tokens, H, dim], as operands: scaled, or phi of it.
  struct Rows {
    Global<const T> data;
    TokenSteps steps;
    int tokens, dim;
    float scale;
    Nonlinearity phi;
  };
  HEADWAY_DEVICE Rows queries() const {
    return {x_.query,
            x_.query_steps,
            x_.queries,
            x_.query_dim,
            1.0F / sqrtf(static_cast<float>(x_.query_dim)),
            Nonlinearity::kIdentity};
  }
  HEADWAY_DEVICE Rows keys() const {
    return {x_.key, x_.key_steps, x_.keys, x_.query_dim, 1.0F, Nonlinearity::kIdentity};
  }
  HEADWAY_DEVICE Rows values() const {
    return {x_.value, x_.value_steps,
            x_.keys,  x_.value_dim,
            1.0F,     generated ? Nonlinearity::kIdentity : x_.options.nonlinearity};
  }
  /// Of the output or its gradient.
  HEADWAY_DEVICE Rows outputs(Global<const T> data) const {
    const std::int64_t row = static_cast<std::int64_t>(x_.heads) * x_.value_dim;
    return {data, {row, row * x_.queries}, x_.queries, x_.value_dim, 1.0F, Nonlinearity::kIdentity};
  }

  HEADWAY_DEVICE std::int64_t start_of(const TokenSteps& steps, int token) const {
    return example_ * steps.example + token * steps.token;
  }
  // 0 of every phi is 0, so that missing heads and dims stay 0.
  static HEADWAY_DEVICE float finished(const Rows& rows, float value) {
    value *= rows.scale;
    return rows.phi == Nonlinearity::kIdentity ? value : apply(rows.phi, value).value;
  }
  /// work(token, head, dim, number) for a thread's share of the rows of all tokens. Eight numbers
  /// are on their way from memory at a time.
  template <typename Work>
  HEADWAY_DEVICE void for_numbers(int thread, const Rows& rows, const Work& work) const {
    constexpr int kTogether = 8;
    const int count = rows.tokens * kRow;
    const int step = block_.size();
    for (int first = thread; first < count; first += kTogether * step) {
      float value[kTogether];
      HEADWAY_UNROLL
      for (int j = 0; j < kTogether; ++j) {
        const int i = first + j * step < count ? first + j * step : count - 1;
        const int head = i % kRow / kDims;
        const int dim = i % kDims;
        const bool real = head < x_.heads && dim < rows.dim;  // else the row's first is read
        value[j] =
            get(rows.data, start_of(rows.steps, i / kRow) + (real ? head * rows.dim + dim : 0));
        if (!real) value[j] = 0.0F;
      }
      HEADWAY_UNROLL
      for (int j = 0; j < kTogether; ++j) {
        const int i = first + j * step;
        const int column = i % kRow;
        if (i >= count) return;
        work(i / kRow, column / kDims, column % kDims, finished(rows, value[j]));
      }
    }
  }

  static HEADWAY_DEVICE void load_heads(Shared<const float> from, int at, Heads& to) {
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; h += kFour) {
      const Floats4 four = get4(from, at + h);
      HEADWAY_UNROLL
      for (int j = 0; j < kFour; ++j) to.x[h + j] = four.value[j];
    }
  }
  static HEADWAY_DEVICE void put_heads(Shared<float> to, int at, const Heads& from) {
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; h += kFour) {
      put4(to, at + h, {from.x[h], from.x[h + 1], from.x[h + 2], from.x[h + 3]});
    }
  }

  /// Where heads of a token's dim are in shared memory: rows are [token][dim][head].
  static HEADWAY_DEVICE int row_at(int token, int dim) { return token * kRowStep + dim * kHeads; }
  HEADWAY_DEVICE void load_rows(int thread, const Rows& rows, Shared<float> to) const {
    const bool fours = rows.dim == kFour && rows.steps.token % kFour == 0 &&
                       rows.steps.example % kFour == 0 && may_get4(rows.data);
    if (fours) return load_fours(thread, rows, to);
    for_numbers(thread, rows, [&](int token, int head, int dim, float number) {
      put(to, row_at(token, dim) + head, number);
    });
  }
  // Of four dims: all of a head in one access. Beyond the last a thread reads the last again, so
  // that no branch stands between accesses, and several are on their way at once.
  HEADWAY_DEVICE void load_fours(int thread, const Rows& rows, Shared<float> to) const {
    constexpr int kTogether = 4;
    const int count = rows.tokens * kHeads;
    const Global<const T> data = rows.data + example_ * rows.steps.example;
    const int step = static_cast<int>(rows.steps.token);
    for (int first = thread; first < count; first += kTogether * block_.size()) {
      Floats4 fours[kTogether];
      HEADWAY_UNROLL
      for (int j = 0; j < kTogether; ++j) {
        const int i = at_most(first + j * block_.size(), count - 1);
        fours[j] = get4(data, i / kHeads * step + at_most(i % kHeads, x_.heads - 1) * kFour);
      }
      HEADWAY_UNROLL
      for (int j = 0; j < kTogether; ++j) {
        const int i = first + j * block_.size();
        if (i >= count) return;
        HEADWAY_UNROLL
        for (int d = 0; d < kFour; ++d) {
          const float number = i % kHeads < x_.heads ? fours[j].value[d] : 0.0F;
          put(to, row_at(i / kHeads, d) + i % kHeads, finished(rows, number));
        }
      }
    }
  }
  static HEADWAY_DEVICE int at_most(int a, int b) { return a < b ? a : b; }

  /// The position bias of a pair; all of it is on its way at once.
  HEADWAY_DEVICE void load_bias(int query, int key, Heads& to) const {
    if (x_.bias == nullptr) {
      to = {};
      return;
    }
    const int pairs = x_.queries * x_.keys;
    const Global<const float> bias = x_.bias + (query * x_.keys + key);
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      const float number = get(bias, at_most(h, x_.heads - 1) * pairs);
      to.x[h] = h < x_.heads ? number : 0.0F;
    }
  }

  /// score += q . k, whose rows begin at these tokens of shared memory.
  static HEADWAY_DEVICE void add_products(Shared<const float> queries, int query,
                                          Shared<const float> keys, int key, Heads& score) {
    HEADWAY_UNROLL
    for (int d = 0; d < kDims; ++d) {
      Heads of_query;
      Heads of_key;
      load_heads(queries, row_at(query, d), of_query);
      load_heads(keys, row_at(key, d), of_key);
      HEADWAY_UNROLL
      for (int h = 0; h < kHeads; ++h) {
        score.x[h] = fused(of_query.x[h], of_key.x[h], score.x[h]);
      }
    }
  }
  /// RMSHead's factor of a pair, or 1.
  HEADWAY_DEVICE float normaliser(const Heads& score) const {
    if (!rms_head()) return 1.0F;
    float squares = 0.0F;
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) squares = fused(score.x[h], score.x[h], squares);
    return 1.0F /
           sqrtf(squares / static_cast<float>(x_.heads) + static_cast<float>(kRmsHeadEpsilon));
  }

  /// The sum over the eight lanes of a token: each of them ends with an eighth of the row.
  template <int half = kRow / 2, int mask = kNarrowSlices / 2>
  static HEADWAY_DEVICE void share(const Warp& warp, Lanes<Row>& rows) {
    HEADWAY_UNROLL
    for (int i = 0; i < half; ++i) {
      exchange(
          warp, mask,
          [&](int lane) { return (lane & mask) != 0 ? rows[lane].x[i] : rows[lane].x[half + i]; },
          [&](int lane, float other) {
            const float mine = (lane & mask) != 0 ? rows[lane].x[half + i] : rows[lane].x[i];
            rows[lane].x[i] = mine + other;
          });
    }
    if constexpr (mask > 1) share<half / 2, mask / 2>(warp, rows);
  }
  /// factor(place) times a lane's eighth, to place `start` + (head, dim).
  template <typename Factor>
  HEADWAY_DEVICE void store_eighth(Global<T> to, std::int64_t start, int slice, const Row& from,
                                   const Factor& factor) const {
    constexpr int kNumbers = kRow / kNarrowSlices;
    HEADWAY_UNROLL
    for (int i = 0; i < kNumbers; ++i) {
      const unsigned number = static_cast<unsigned>(slice) * kNumbers + i;
      const auto head = static_cast<int>(number % kHeads);
      const auto dim = static_cast<int>(number / kHeads);
      if (head >= x_.heads || dim >= x_.value_dim) continue;
      const int at = head * x_.value_dim + dim;
      put(to + start, at, factor(start + at) * from.x[i]);
    }
  }

  Block& block_;
  const AttentionArguments<T>& x_;
  int example_ = 0;
};

}  // namespace headway::training::HEADWAY_GPU
