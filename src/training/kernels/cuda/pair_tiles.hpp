#pragma once

#include "training/kernels/cuda/attention_arguments.hpp"
#include "training/kernels/cuda/tile_product.hpp"

// What the forward and the backward kernels share: a tile of pairs (some queries by some keys, all
// heads of the block) in shared memory, its scores and weights, and the value networks on it.
//
// Orders, last index fastest: queries, keys and their like [token][head][dim]; scores and their
// like [head][query][key]; what a value network computes [query][key][dim]. Rows are padded so that
// threads beside each other meet different banks.
namespace headway::training::HEADWAY_GPU {

/// A row length that spreads rows over the 32 banks of 4 bytes: an odd number of them.
template <typename T>
HEADWAY_BOTH constexpr int padded(int length) {
  if (sizeof(T) == 4) return length + 1 - length % 2;
  return length + (6 - length % 4) % 4;
}

struct Steps {
  int query_row, value_row, score_query, score_head, pair;
};

template <typename T>
HEADWAY_BOTH Steps steps_of(const AttentionPlanSizes& plan, int query_dim, int value_dim) {
  const int score_query = padded<float>(plan.tile_keys);
  return {padded<T>(plan.heads * query_dim), padded<T>(plan.heads * value_dim), score_query,
          padded<float>(plan.tile_queries * score_query), padded<T>(plan.tile_dims)};
}

/// Where the block is: an example, a run of heads, queries and keys.
struct Place {
  int example = 0, first_head = 0;
  int first_query = 0, queries = 0;
  int first_key = 0, keys = 0;
};

template <Arithmetic kind, typename T>
class PairTiles {
 public:
  HEADWAY_DEVICE PairTiles(Block& block, const AttentionArguments<T>& arguments)
      : block_(block),
        x_(arguments),
        heads_(arguments.plan.heads),
        steps_(steps_of<T>(arguments.plan, arguments.query_dim, arguments.value_dim)) {}

 protected:
  HEADWAY_DEVICE bool softmax() const {
    return x_.options.normalisation == Normalisation::kSoftmax;
  }
  HEADWAY_DEVICE bool plain() const { return x_.options.value_network == ValueNetwork::kPlain; }
  HEADWAY_DEVICE bool deep() const { return x_.options.value_network == ValueNetwork::kHylaDeep; }

  template <typename Memory>
  HEADWAY_DEVICE void take_shared(Memory& memory) {
    const AttentionPlanSizes& plan = x_.plan;
    const int pairs = plan.tile_queries * plan.tile_keys;
    query_ = memory.template take<T>("query tile", plan.tile_queries * steps_.query_row);
    key_ = memory.template take<T>("key tile", plan.tile_keys * steps_.query_row);
    value_ = memory.template take<T>("value tile", plan.tile_keys * steps_.value_row);
    score_ = memory.template take<float>("score", heads_ * steps_.score_head);
    if (softmax()) log_sum_ = memory.template take<float>("log sum", heads_ * plan.tile_queries);
    if (!plain()) hidden_ = memory.template take<T>("hidden", pairs * steps_.pair);
    if (deep()) last_ = memory.template take<float>("last", pairs * steps_.pair);
  }

  // --- memory -------------------------------------------------------------------------------

  // Offset of head `first_head` of a token in [B, tokens, H, dim].
  HEADWAY_DEVICE std::int64_t offset(int token, int tokens, int dim) const {
    return ((static_cast<std::int64_t>(place_.example) * tokens + token) * x_.heads +
            place_.first_head) *
           dim;
  }
  // The same where tokens and examples lie apart from each other.
  HEADWAY_DEVICE std::int64_t offset(int token, const TokenSteps& steps, int dim) const {
    return place_.example * steps.example + token * steps.token +
           static_cast<std::int64_t>(place_.first_head) * dim;
  }
  // Offset of (head, query) in [B, H, Sq].
  HEADWAY_DEVICE std::int64_t query_offset(int head, int query) const {
    return (static_cast<std::int64_t>(place_.example) * x_.heads + place_.first_head + head) *
               x_.queries +
           place_.first_query + query;
  }

  // to[row][i] = scale * from[first + row, heads of the block, dim], of [B, tokens, H, dim].
  // NOLINTNEXTLINE(readability-function-size): a kernel takes bare rows
  HEADWAY_DEVICE void load_rows(Global<const T> from, int first, int rows, const TokenSteps& steps,
                                int dim, float scale, Shared<T> to, int row_step) {
    const Global<const T> start = from + offset(first, steps, dim);
    const int length = heads_ * dim;
    const std::int64_t token_step = steps.token;
    for_each(block_, rows, length, [&](int row, int column) {
      put(to, row * row_step + column, scale * get(start, row * token_step + column));
    });
  }

  HEADWAY_DEVICE void load_queries() {
    load_rows(x_.query, place_.first_query, place_.queries, x_.query_steps, x_.query_dim,
              1.0F / sqrtf(static_cast<float>(x_.query_dim)), query_, steps_.query_row);
  }
  HEADWAY_DEVICE void load_keys() {
    load_rows(x_.key, place_.first_key, place_.keys, x_.key_steps, x_.query_dim, 1.0F, key_,
              steps_.query_row);
  }
  // phi(v) in place of v for a plain network.
  HEADWAY_DEVICE void load_values() {
    load_rows(x_.value, place_.first_key, place_.keys, x_.value_steps, x_.value_dim, 1.0F, value_,
              steps_.value_row);
    if (!plain() || x_.options.nonlinearity == Nonlinearity::kIdentity) return;
    for_each(block_, place_.keys, heads_ * x_.value_dim, [&](int row, int column) {
      const int at = row * steps_.value_row + column;
      put(value_, at, apply(x_.options.nonlinearity, get(value_, at)).value);
    });
  }

  // Keys before the end of those that any query of the tile sees.
  HEADWAY_DEVICE int end_of_keys() const {
    if (!x_.options.causal) return x_.keys;
    const int end = place_.first_query + place_.queries + x_.keys - x_.queries;
    return end < x_.keys ? end : x_.keys;
  }

  HEADWAY_DEVICE bool visible(int query, int key) const {
    const int k = place_.first_key + key;
    if (x_.options.causal && k > place_.first_query + query + x_.keys - x_.queries) return false;
    if (x_.key_mask == nullptr) return true;
    return get_bits(x_.key_mask, static_cast<std::int64_t>(place_.example) * x_.keys + k) != 0;
  }

  HEADWAY_DEVICE float dropout(int query, int key) const {
    return dropout_of(x_.dropout, place_.first_query + query, place_.first_key + key, x_.keys);
  }

  HEADWAY_DEVICE int score_at(int head, int query, int key) const {
    return head * steps_.score_head + query * steps_.score_query + key;
  }
  HEADWAY_DEVICE int pair_at(int query, int key) const {
    return (query * place_.keys + key) * steps_.pair;
  }

  // --- operands -----------------------------------------------------------------------------

  template <typename A, typename B, typename Store>
  HEADWAY_DEVICE void multiply(const ProductSize& n, const Operand<A>& a, const Operand<B>& b,
                               const Store& store) {
    product<kind>(block_, n, a, b, store);
  }

  // x[key][heads], of each query: batch query, of a [head][query][key].
  HEADWAY_DEVICE Operand<Shared<float>> keys_by_heads(Shared<float> x) const {
    return {x, steps_.score_query, 1, steps_.score_head};
  }
  // x[query][heads], of each key: batch key.
  HEADWAY_DEVICE Operand<Shared<float>> queries_by_heads(Shared<float> x) const {
    return {x, 1, steps_.score_query, steps_.score_head};
  }
  // x[query][key], of each head: batch head.
  HEADWAY_DEVICE Operand<Shared<float>> queries_by_keys(Shared<float> x) const {
    return {x, steps_.score_head, steps_.score_query, 1};
  }
  // x[key][dim], of each query: batch query, of a [query][key][dim].
  template <typename P>
  HEADWAY_DEVICE Operand<P> keys_by_dims(P x) const {
    return {x, place_.keys * steps_.pair, steps_.pair, 1};
  }
  // x[query][dim], of each key: batch key.
  template <typename P>
  HEADWAY_DEVICE Operand<P> queries_by_dims(P x) const {
    return {x, steps_.pair, place_.keys * steps_.pair, 1};
  }
  // x[head][dim], of each token: batch token, of a [token][head][dim]; from `dim` on.
  HEADWAY_DEVICE Operand<Shared<T>> heads_by_dims(Shared<T> x, int dim) const {
    return {x + dim, steps_.value_row, x_.value_dim, 1};
  }
  // x[token][dim], of each head: batch head.
  HEADWAY_DEVICE Operand<Shared<T>> tokens_by_dims(Shared<T> x, int row_step, int dims) const {
    return {x, dims, row_step, 1};
  }
  template <typename P>
  static HEADWAY_DEVICE Operand<P> transposed(const Operand<P>& x) {
    return {x.data, x.batch_step, x.column_step, x.row_step};
  }

  // --- scores and weights -------------------------------------------------------------------

  // score_ = s of the tile (eq. 1); of hidden pairs 0, or -infinity with softmax.
  HEADWAY_DEVICE void compute_scores() {
    const float hidden = softmax() ? -INFINITY : 0.0F;
    multiply({heads_, place_.queries, place_.keys, x_.query_dim},
             tokens_by_dims(query_, steps_.query_row, x_.query_dim),
             transposed(tokens_by_dims(key_, steps_.query_row, x_.query_dim)),
             [&](int head, int query, int key, float sum) {
               put(score_, score_at(head, query, key),
                   visible(query, key) ? sum + bias(head, query, key) : hidden);
             });
  }

  HEADWAY_DEVICE float bias(int head, int query, int key) const {
    if (x_.bias == nullptr) return 0.0F;
    return get(x_.bias, bias_at(head, query, key));
  }
  // In [H, Sq, Sk].
  HEADWAY_DEVICE std::int64_t bias_at(int head, int query, int key) const {
    return (static_cast<std::int64_t>(place_.first_head + head) * x_.queries + place_.first_query +
            query) *
               x_.keys +
           place_.first_key + key;
  }

  // 1 / sqrt(mean over heads of s^2 + epsilon) of a pair.
  HEADWAY_DEVICE float inverse_norm(int query, int key) const {
    float squares = 0.0F;
    for (int h = 0; h < heads_; ++h) {
      const float s = get(score_, score_at(h, query, key));
      squares += s * s;
    }
    const float mean = squares / static_cast<float>(heads_);
    return 1.0F / sqrtf(mean + static_cast<float>(kRmsHeadEpsilon));
  }

  // score_ becomes the weights after dropout, b (eqs. 2 to 4). note(query, key, dropout, r) gets
  // the factors of each pair: without softmax, b = r dropout s (0 for hidden pairs). keep(at, a)
  // gets each softmax weight before dropout.
  template <typename Note, typename Keep>
  HEADWAY_DEVICE void compute_weights(const Note& note, const Keep& keep) {
    for_each(block_, place_.queries, place_.keys, [&](int query, int key) {
      const float drop = dropout(query, key);
      float r = 1.0F;
      if (x_.options.normalisation == Normalisation::kRmsHead) r = inverse_norm(query, key);
      for (int h = 0; h < heads_; ++h) {
        const int at = score_at(h, query, key);
        float a = get(score_, at);
        if (softmax()) {
          a = expf(a - get(log_sum_, h * x_.plan.tile_queries + query));
          keep(at, a);
        }
        put(score_, at, a * r * drop);
      }
      note(query, key, drop, r);
    });
  }

  // --- value networks -----------------------------------------------------------------------

  // store(query, key, dim, u) of dims `dim` .. `dim + dims - 1` of u[q, k] = sum_h b v (eq. 6).
  template <typename Store>
  HEADWAY_DEVICE void generate(int dim, int dims, const Store& store) {
    multiply({place_.keys, place_.queries, dims, heads_}, queries_by_heads(score_),
             heads_by_dims(value_, dim),
             [&](int key, int query, int e, float u) { store(pair_at(query, key) + e, u); });
  }

  // last_ = u2 of the tile, sum_h b M_h z (eq. 7), from z = hidden_.
  HEADWAY_DEVICE void mix() {
    const int dims = x_.value_dim;
    for (int h = 0; h < heads_; ++h) {
      const Global<const float> m = x_.mixing + static_cast<std::int64_t>(h) * dims * dims;
      multiply({1, place_.queries * place_.keys, dims, dims},
               Operand<Shared<T>>{hidden_, 0, steps_.pair, 1},
               Operand<Global<const float>>{m, 0, 1, dims}, [&](int, int pair, int e, float sum) {
                 const float b = get(score_, score_at(h, pair / place_.keys, pair % place_.keys));
                 const int at = pair * steps_.pair + e;
                 put(last_, at, h == 0 ? b * sum : get(last_, at) + b * sum);
               });
    }
  }

  Block& block_;
  const AttentionArguments<T>& x_;
  const int heads_;
  const Steps steps_;
  Place place_;
  Shared<T> query_;             // [query][head][d], over sqrt(d)
  Shared<T> key_;               // [key][head][d]
  Shared<T> value_;             // [key][head][dv]
  Shared<float> score_;         // [head][query][key]
  Shared<float> log_sum_ = {};  // [head][query]
  Shared<T> hidden_ = {};       // [query][key][dim]
  Shared<float> last_ = {};     // [query][key][dim]
};

}  // namespace headway::training::HEADWAY_GPU
