#pragma once

#include "training/kernels/cuda/attention_narrow_pairs.hpp"

// The backward pass of narrow layers (attention_narrow_pairs.hpp).
//
// A block has all tokens of an example. Shared memory holds the number of each pair and head: first
// its position bias, then the gradient of its score. So each pair is computed once. Gradients of
// queries and keys are products of these numbers with rows, and they leave the block as the
// gradient of the bias.
namespace headway::training::HEADWAY_GPU {

constexpr int kMostNarrowThreads = 288;

/// Sizes of the shared memory of a block.
struct NarrowSizes {
  int queries, keys;
  int heads;  ///< padded
  int row;    ///< numbers of a token, padded
  bool softmax;

  /// From one query to the next, and from one key to the next: eight lanes that read four numbers
  /// each meet different banks, be they of eight queries or of eight keys.
  [[nodiscard]] HEADWAY_BOTH int query_step() const { return heads + 4; }
  [[nodiscard]] HEADWAY_BOTH int key_step() const {
    return queries * query_step() + (queries % 2 == 0 ? 4 : 0);
  }
};

struct NarrowArrays {
  template <typename Memory>
  HEADWAY_DEVICE NarrowArrays(Memory& memory, const NarrowSizes& n)
      : query(memory.template take<float>("queries", n.queries * n.row)),
        d_output(memory.template take<float>("gradients of outputs", n.queries * n.row)),
        key(memory.template take<float>("keys", n.keys * n.row)),
        value(memory.template take<float>("values", n.keys * n.row)),
        pairs(memory.template take<float>("pairs", n.keys * n.key_step())),
        dropout(memory.template take<float>("dropout of pairs", n.keys * n.queries)) {
    if (!n.softmax) return;
    log_sum = memory.template take<float>("log sums", n.queries * n.heads);
    over_keys = memory.template take<float>("over keys", n.queries * n.heads);
  }

  // Rows are [token][dim][head].
  Shared<float> query, d_output, key, value;
  Shared<float> pairs;           // [key][query][head]
  Shared<float> dropout;         // [key][query]; hidden pairs: kHiddenPair
  Shared<float> log_sum = {};    // [query][head]
  Shared<float> over_keys = {};  // [query][head]
};

template <typename T, typename Cut, bool generated, bool softmax>
class NarrowBackward : private NarrowPairs<T, Cut, generated> {
  using Narrow = NarrowPairs<T, Cut, generated>;
  using Narrow::block_;
  using Narrow::example_;
  using Narrow::kDims;
  using Narrow::kFour;
  using Narrow::kHeads;
  using Narrow::load_heads;
  using Narrow::put_heads;
  using Narrow::row_at;
  using Narrow::x_;
  using typename Narrow::Heads;
  using typename Narrow::Row;

 public:
  HEADWAY_DEVICE NarrowBackward(Block& block, const AttentionArguments<T>& arguments,
                                const GradientArguments<T>& gradients, const NarrowSizes& sizes,
                                const NarrowArrays& arrays)
      : Narrow(block, arguments), gradients_(gradients), n_(sizes), arrays_(arrays) {}

  HEADWAY_DEVICE void run() {
    const auto example_at = [&](int group) {
      return static_cast<int>(static_cast<std::int64_t>(group) * x_.batch / x_.plan.groups);
    };
    first_example_ = example_at(block_.x());
    for (example_ = first_example_; example_ < example_at(block_.x() + 1); ++example_) {
      block_.threads_afresh([&](int thread) { load(thread); });
      block_.warps_afresh([&](const Warp& warp) { sweep(warp); });
      block_.threads_afresh([&](int thread) {
        store_bias(thread);
        multiply(thread);
      });
    }
  }

 private:
  HEADWAY_DEVICE int pair_at(int query, int key) const {
    return key * n_.key_step() + query * n_.query_step();
  }

  // --- what a block loads -------------------------------------------------------------------

  HEADWAY_DEVICE void load(int thread) const {
    Narrow::load_rows(thread, Narrow::queries(), arrays_.query);
    Narrow::load_rows(thread, Narrow::outputs(gradients_.d_output), arrays_.d_output);
    Narrow::load_rows(thread, Narrow::keys(), arrays_.key);
    Narrow::load_rows(thread, Narrow::values(), arrays_.value);
    for (int pair = thread; pair < x_.queries * x_.keys; pair += block_.size()) {
      const int query = pair / x_.keys;
      const int key = pair % x_.keys;
      Heads bias;
      Narrow::load_bias(query, key, bias);
      put(arrays_.dropout, key * x_.queries + query,
          Narrow::visible(query, key) ? dropout_of(x_.dropout, query, key, x_.keys) : kHiddenPair);
      put_heads(arrays_.pairs, pair_at(query, key), bias);
    }
    if constexpr (softmax) load_sums(thread);
  }
  // Of softmax: log sums, and sum_k b d_b = d_output . output.
  HEADWAY_DEVICE void load_sums(int thread) const {
    for (int i = thread; i < x_.queries * kHeads; i += block_.size()) {
      const int query = i / kHeads;
      const int head = i % kHeads;
      const bool real = head < x_.heads;
      const std::int64_t at =
          (static_cast<std::int64_t>(example_) * x_.heads + head) * x_.queries + query;
      put(arrays_.log_sum, i, real ? get(gradients_.log_sum_exp, at) : 0.0F);
      const auto rows = Narrow::outputs(gradients_.output);
      const std::int64_t row = Narrow::start_of(rows.steps, query) + head * rows.dim;
      float sum = 0.0F;
      HEADWAY_UNROLL
      for (int e = 0; e < kDims; ++e) {
        if (!real || e >= rows.dim) continue;
        sum = fused(get(gradients_.d_output, row + e), get(gradients_.output, row + e), sum);
      }
      put(arrays_.over_keys, i, sum);
    }
  }

  // --- one pair a lane ----------------------------------------------------------------------

  // Adds to the gradients of the pair's value; returns those of its weights b.
  HEADWAY_DEVICE Heads differentiate(const Heads& weight, int query, int key, Row& d_value) const {
    Heads d_b = {};
    HEADWAY_UNROLL
    for (int e = 0; e < kDims; ++e) {
      Heads value;
      Heads d_output;
      load_heads(arrays_.value, row_at(key, e), value);
      load_heads(arrays_.d_output, row_at(query, e), d_output);
      float u = 0.0F;
      float d_z = 0.0F;
      float d_u = 0.0F;
      float z = 0.0F;
      if constexpr (generated) {
        HEADWAY_UNROLL
        for (int h = 0; h < kHeads; ++h) {
          u = fused(weight.x[h], value.x[h], u);
          d_z = fused(weight.x[h], d_output.x[h], d_z);
        }
        const ValueAndSlope y = apply(x_.options.nonlinearity, u);
        z = y.value;
        d_u = y.slope * d_z;
      }
      HEADWAY_UNROLL
      for (int h = 0; h < kHeads; ++h) {
        float& sum = d_value.x[e * kHeads + h];
        if constexpr (generated) {
          d_b.x[h] = fused(z, d_output.x[h], fused(d_u, value.x[h], d_b.x[h]));
          sum = fused(weight.x[h], d_u, sum);
        } else {
          d_b.x[h] = fused(d_output.x[h], value.x[h], d_b.x[h]);
          sum = fused(weight.x[h], d_output.x[h], sum);
        }
      }
    }
    return d_b;
  }

  // exp(score - log sum), which waits in shared memory for its gradient.
  HEADWAY_DEVICE void exponentiate(int query, int at, Heads& score) const {
    Heads log_sum;
    load_heads(arrays_.log_sum, query * kHeads, log_sum);
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) score.x[h] = expf(score.x[h] - log_sum.x[h]);
    put_heads(arrays_.pairs, at, score);
  }
  // d_b becomes d_s, by the formulas of ValueGradient::score_gradient.
  HEADWAY_DEVICE void softmax_gradient(int query, int at, float dropout, Heads& d_b) const {
    Heads before;
    Heads sum;
    load_heads(arrays_.pairs, at, before);
    load_heads(arrays_.over_keys, query * kHeads, sum);
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      d_b.x[h] = before.x[h] * (dropout * d_b.x[h] - sum.x[h]);
    }
  }
  HEADWAY_DEVICE void score_gradient(const Heads& weight, float scale, float dropout,
                                     Heads& d_b) const {
    float mean = 0.0F;
    if (Narrow::rms_head() && dropout != 0.0F) {
      float along = 0.0F;
      HEADWAY_UNROLL
      for (int h = 0; h < kHeads; ++h) along = fused(weight.x[h], d_b.x[h], along);
      mean = along * (scale / (dropout * dropout) / static_cast<float>(x_.heads));
    }
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) d_b.x[h] = scale * d_b.x[h] - mean * weight.x[h];
  }

  HEADWAY_DEVICE void pair(int query, int key, Row& d_value) const {
    const int at = pair_at(query, key);
    const float dropout = get(arrays_.dropout, key * x_.queries + query);
    if (dropout < 0.0F) return put_heads(arrays_.pairs, at, Heads{});  // hidden
    Heads weight;                                                      // first the score
    load_heads(arrays_.pairs, at, weight);
    Narrow::add_products(arrays_.query, query, arrays_.key, key, weight);
    const float scale = Narrow::normaliser(weight) * dropout;
    if constexpr (softmax) exponentiate(query, at, weight);
    HEADWAY_UNROLL
    for (int h = 0; h < kHeads; ++h) weight.x[h] *= scale;
    Heads d_s = differentiate(weight, query, key, d_value);
    // Read again: registers are scarce.
    const float again = get(arrays_.dropout, key * x_.queries + query);
    if constexpr (softmax) {
      softmax_gradient(query, at, again, d_s);
    } else {
      score_gradient(weight, scale, again, d_s);
    }
    put_heads(arrays_.pairs, at, d_s);
  }

  // A warp takes four keys at a time, each with eight lanes.
  HEADWAY_DEVICE void sweep(const Warp& warp) const {
    constexpr int kKeys = 32 / kNarrowSlices;
    for (int first = warp.index() * kKeys; first < x_.keys;
         first += block_.size() / kNarrowSlices) {
      Lanes<Row> d_value;
      warp.lanes([&](int lane) {
        const int key = first + lane / kNarrowSlices;
        if (key >= x_.keys) return;
        for (int query = lane % kNarrowSlices; query < x_.queries; query += kNarrowSlices) {
          pair(query, key, d_value[lane]);
        }
      });
      Narrow::share(warp, d_value);
      warp.lanes([&](int lane) {
        const int key = first + lane / kNarrowSlices;
        if (key < x_.keys) store_value(key, lane % kNarrowSlices, d_value[lane]);
      });
    }
  }
  HEADWAY_DEVICE void store_value(int key, int slice, const Row& d_value) const {
    const Nonlinearity phi = x_.options.nonlinearity;
    Narrow::store_eighth(gradients_.value, Narrow::start_of(x_.value_steps, key), slice, d_value,
                         [&](std::int64_t at) {
                           if (generated || phi == Nonlinearity::kIdentity) return 1.0F;
                           return apply(phi, get(x_.value, at)).slope;
                         });
  }

  // --- gradients of scores leave ------------------------------------------------------------

  HEADWAY_DEVICE void store_bias(int thread) const {
    if (gradients_.bias_sums == nullptr) return;
    const int pairs = x_.queries * x_.keys;
    const Global<float> copy =
        gradients_.bias_sums + static_cast<std::int64_t>(block_.x()) * x_.heads * pairs;
    for (int pair = thread; pair < pairs; pair += block_.size()) {
      Heads d_s;
      load_heads(arrays_.pairs, pair_at(pair / x_.keys, pair % x_.keys), d_s);
      if (example_ != first_example_) {
        HEADWAY_UNROLL
        for (int h = 0; h < kHeads; ++h) {
          if (h < x_.heads) d_s.x[h] += get(copy, h * pairs + pair);
        }
      }
      HEADWAY_UNROLL
      for (int h = 0; h < kHeads; ++h) {
        if (h < x_.heads) put(copy, h * pairs + pair, d_s.x[h]);
      }
    }
  }

  // d_q = sum_k d_s k and d_k = sum_q d_s q: a thread has four heads of a token.
  HEADWAY_DEVICE void multiply(int thread) const {
    constexpr int kQuarters = kHeads / kFour;
    const int of_queries = x_.queries * kQuarters;
    const int all = of_queries + x_.keys * kQuarters;
    const float scale = 1.0F / sqrtf(static_cast<float>(x_.query_dim));
    for (int i = thread; i < all; i += block_.size()) {
      const bool is_query = i < of_queries;
      const int item = is_query ? i : i - of_queries;
      const int token = item / kQuarters;
      const int head = item % kQuarters * kFour;
      if (is_query) {
        const FourHeads sum =
            along(arrays_.key, x_.keys, token * n_.query_step() + head, n_.key_step(), head);
        if (!(gradients_.query == nullptr)) {
          store_four(gradients_.query, Narrow::start_of(x_.query_steps, token), head, scale, sum);
        } else {
          store_four(gradients_.query_sums, Narrow::start_of(gradients_.query_sum_steps, token),
                     head, scale, sum);
        }
      } else {
        const FourHeads sum =
            along(arrays_.query, x_.queries, token * n_.key_step() + head, n_.query_step(), head);
        store_four(gradients_.key, Narrow::start_of(x_.key_steps, token), head, 1.0F, sum);
      }
    }
  }
  struct FourHeads {
    float x[kDims][kFour];
  };
  // The sum over `others` of d_s, from place `first` on, times their rows.
  HEADWAY_DEVICE FourHeads along(Shared<const float> rows, int others, int first, int step,
                                 int head) const {
    FourHeads sum = {};
    for (int other = 0; other < others; ++other) {
      const Floats4 d_s = get4(arrays_.pairs, first + other * step);
      HEADWAY_UNROLL
      for (int d = 0; d < kDims; ++d) {
        const Floats4 row = get4(rows, row_at(other, d) + head);
        HEADWAY_UNROLL
        for (int j = 0; j < kFour; ++j) {
          sum.x[d][j] = fused(d_s.value[j], row.value[j], sum.x[d][j]);
        }
      }
    }
    return sum;
  }
  template <typename To>
  HEADWAY_DEVICE void store_four(Global<To> to, std::int64_t start, int head, float scale,
                                 const FourHeads& from) const {
    HEADWAY_UNROLL
    for (int j = 0; j < kFour; ++j) {
      HEADWAY_UNROLL
      for (int d = 0; d < kDims; ++d) {
        if (head + j >= x_.heads || d >= x_.query_dim) continue;
        put(to, start + (head + j) * x_.query_dim + d, scale * from.x[d][j]);
      }
    }
  }

  const GradientArguments<T>& gradients_;
  const NarrowSizes n_;
  const NarrowArrays arrays_;
  int first_example_ = 0;  // of the block
};

}  // namespace headway::training::HEADWAY_GPU
