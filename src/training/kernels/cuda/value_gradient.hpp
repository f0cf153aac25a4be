#pragma once

#include "training/kernels/cuda/pair_tiles.hpp"

namespace headway::training::HEADWAY_GPU {

/// Tiles of the backward pass up to the gradient of the weights and of values: what is computed
/// again of the forward pass, and the derivative of each value network.
template <Arithmetic kind, typename T>
class ValueGradient : protected PairTiles<kind, T> {
 protected:
  using Base = PairTiles<kind, T>;
  using Base::block_;
  using Base::heads_;
  using Base::hidden_;
  using Base::last_;
  using Base::place_;
  using Base::score_;
  using Base::steps_;
  using Base::value_;
  using Base::x_;

  HEADWAY_DEVICE ValueGradient(Block& block, const AttentionArguments<T>& arguments,
                               const GradientArguments<T>& gradients)
      : Base(block, arguments), gradients_(gradients) {}

  HEADWAY_DEVICE bool weights_kept() const {
    return Base::softmax() && (!(x_.dropout.given == nullptr) || !(x_.dropout.index == nullptr));
  }

  template <typename Memory>
  HEADWAY_DEVICE void take_shared(Memory& memory) {
    Base::take_shared(memory);
    const AttentionPlanSizes& plan = x_.plan;
    const int pairs = plan.tile_queries * plan.tile_keys;
    d_output_ = memory.template take<T>("d_output tile", plan.tile_queries * steps_.value_row);
    d_weight_ = memory.template take<float>("d_weight", heads_ * steps_.score_head);
    if (weights_kept()) weight_ = memory.template take<float>("weight", heads_ * steps_.score_head);
    if (Base::softmax())
      over_keys_ = memory.template take<float>("over keys", heads_ * plan.tile_queries);
    if (!Base::softmax()) {
      factor_ = memory.template take<float>("factor", pairs);
      radial_ = memory.template take<float>("radial", pairs);
    }
    if (!Base::plain()) d_last_ = memory.template take<T>("d_last", pairs * steps_.pair);
    if (!Base::deep()) return;
    final_ = memory.template take<T>("final", pairs * steps_.pair);
    slope_ = memory.template take<T>("slope", pairs * steps_.pair);
    d_hidden_ = memory.template take<float>("d_hidden", pairs * steps_.pair);
  }

  HEADWAY_DEVICE void choose_queries(int first_query) {
    place_.first_query = first_query;
    const int left = x_.queries - first_query;
    place_.queries = left < x_.plan.tile_queries ? left : x_.plan.tile_queries;
  }
  HEADWAY_DEVICE void choose_keys(int first_key, int end) {
    place_.first_key = first_key;
    place_.keys = end - first_key < x_.plan.tile_keys ? end - first_key : x_.plan.tile_keys;
  }

  // Queries, d_output and, of softmax, the sums over keys that are known.
  HEADWAY_DEVICE void load_query_side() {
    Base::load_queries();
    const std::int64_t row = static_cast<std::int64_t>(x_.heads) * x_.value_dim;
    Base::load_rows(gradients_.d_output, place_.first_query, place_.queries,
                    TokenSteps{row, row * x_.queries}, x_.value_dim, 1.0F, d_output_,
                    steps_.value_row);
    if (!Base::softmax()) return;
    for_each(block_, heads_, place_.queries, [&](int head, int query) {
      const std::int64_t from = Base::query_offset(head, query);
      const int to = head * x_.plan.tile_queries + query;
      put(Base::log_sum_, to, get(gradients_.log_sum_exp, from));
      put(over_keys_, to,
          gradients_.known_over_keys == nullptr ? 0.0F : get(gradients_.known_over_keys, from));
    });
  }

  // score_ = b; factors of the gradient of the scores as score_gradient wants them.
  HEADWAY_DEVICE void recompute_weights() {
    Base::compute_scores();
    const bool kept = weights_kept();
    Base::compute_weights(
        [&](int query, int key, float drop, float r) {
          if (Base::softmax()) return;
          const bool seen = Base::visible(query, key);
          const int pair = query * place_.keys + key;
          put(factor_, pair, seen ? r * drop : 0.0F);
          put(radial_, pair, seen && drop != 0.0F ? r / drop : 0.0F);
        },
        [&](int at, float a) {
          if (kept) put(weight_, at, a);
        });
  }

  // d_weight_ = d_b. values(key, head, dim, sum) is given what the tile adds to the gradient of
  // values (of phi(v) for a plain network), mixing(head, e, f, sum) to that of M_h.
  template <typename Values, typename Mixing>
  HEADWAY_DEVICE void weight_gradient(const Values& values, const Mixing& mixing) {
    const int dims = x_.value_dim;
    if (Base::plain()) return plain_gradient(values);
    for (int dim = 0; dim < dims; dim += x_.plan.tile_dims) {
      const int count = dims - dim < x_.plan.tile_dims ? dims - dim : x_.plan.tile_dims;
      const Nonlinearity phi = x_.options.nonlinearity;
      if (Base::deep()) {
        deep_forward();
        last_layer_gradient(final_, dim, count);
        mixing_gradient(mixing);
      } else {
        Base::generate(dim, count, [&](int at, float u) {
          const ValueAndSlope y = apply(phi, u);
          put(hidden_, at, y.value);
          put(d_last_, at, y.slope);
        });
        last_layer_gradient(hidden_, dim, count);
      }
      first_layer_gradient(dim, count, values);
    }
  }

  // d_weight_ becomes d_s. With b = dropout a, d_a = dropout d_b:
  //   softmax   a (d_a - sum_k a d_a) = b d_b - a sum_k b d_b
  //   RMSHead   r (d_a - a mean_h a d_a) = factor d_b - radial b mean_h b d_b
  //   none      factor d_b
  HEADWAY_DEVICE void score_gradient() {
    const bool kept = weights_kept();
    const bool radial = x_.options.normalisation == Normalisation::kRmsHead;
    for_each(block_, place_.queries, place_.keys, [&](int query, int key) {
      const int pair = query * place_.keys + key;
      float mean = 0.0F;
      for (int h = 0; radial && h < heads_; ++h) {
        const int at = Base::score_at(h, query, key);
        mean += get(score_, at) * get(d_weight_, at);
      }
      if (radial) mean *= get(radial_, pair) / static_cast<float>(heads_);
      const float factor = Base::softmax() ? 0.0F : get(factor_, pair);
      for (int h = 0; h < heads_; ++h) {
        const int at = Base::score_at(h, query, key);
        const float b = get(score_, at);
        const float d = get(d_weight_, at);
        float d_s = factor * d - mean * b;
        if (Base::softmax()) {
          const float a = kept ? get(weight_, at) : b;
          d_s = b * d - a * get(over_keys_, h * x_.plan.tile_queries + query);
        }
        put(d_weight_, at, d_s);
      }
    });
  }

  const GradientArguments<T>& gradients_;
  Shared<T> d_output_;            // [query][head][dv]
  Shared<float> d_weight_;        // [head][query][key]: d_b, then d_s
  Shared<float> weight_ = {};     // [head][query][key]: a; softmax with dropout
  Shared<float> over_keys_ = {};  // [head][query]: sum_k b d_b; softmax
  Shared<float> factor_ = {};     // [query][key]: r dropout
  Shared<float> radial_ = {};     // [query][key]: r / dropout
  Shared<T> d_last_ = {};         // [query][key][dim]: phi' of the last layer, then d_u or d_u2
  Shared<T> final_ = {};          // [query][key][dim]: phi(u2)
  Shared<T> slope_ = {};          // [query][key][dim]: phi' of the hidden layer of a deep network
  Shared<float> d_hidden_ = {};   // [query][key][dim]

 private:
  template <typename Values>
  HEADWAY_DEVICE void plain_gradient(const Values& values) {
    const int dims = x_.value_dim;
    const auto d_o = Base::tokens_by_dims(d_output_, steps_.value_row, dims);
    Base::multiply({heads_, place_.queries, place_.keys, dims}, d_o,
                   Base::transposed(Base::tokens_by_dims(value_, steps_.value_row, dims)),
                   [&](int head, int query, int key, float sum) {
                     put(d_weight_, Base::score_at(head, query, key), sum);
                   });
    Base::multiply({heads_, place_.keys, dims, place_.queries},
                   Base::transposed(Base::queries_by_keys(score_)), d_o,
                   [&](int head, int key, int e, float sum) { values(key, head, e, sum); });
  }

  // hidden_, slope_ = phi, phi' of u; final_, d_last_ = phi, phi' of u2.
  HEADWAY_DEVICE void deep_forward() {
    const int dims = x_.value_dim;
    const Nonlinearity phi = x_.options.nonlinearity;
    Base::generate(0, dims, [&](int at, float u) {
      const ValueAndSlope y = apply(phi, u);
      put(hidden_, at, y.value);
      put(slope_, at, y.slope);
    });
    Base::mix();
    for_each(block_, place_.queries * place_.keys, dims, [&](int pair, int e) {
      const int at = pair * steps_.pair + e;
      const ValueAndSlope y = apply(phi, get(last_, at));
      put(final_, at, y.value);
      put(d_last_, at, y.slope);
    });
  }

  // o[h] = sum_k b_h w: d_weight_ = d_o . w (added to after the first dims), d_last_ = phi' sum_h
  // b_h d_o[h].
  HEADWAY_DEVICE void last_layer_gradient(Shared<T> w, int dim, int count) {
    Base::multiply({place_.queries, place_.keys, heads_, count}, Base::keys_by_dims(w),
                   Base::transposed(Base::heads_by_dims(d_output_, dim)),
                   [&](int query, int key, int head, float sum) {
                     const int at = Base::score_at(head, query, key);
                     put(d_weight_, at, dim == 0 ? sum : get(d_weight_, at) + sum);
                   });
    Base::multiply({place_.queries, place_.keys, count, heads_}, Base::keys_by_heads(score_),
                   Base::heads_by_dims(d_output_, dim), [&](int query, int key, int e, float sum) {
                     const int at = Base::pair_at(query, key) + e;
                     put(d_last_, at, get(d_last_, at) * sum);
                   });
  }

  // u2 = sum_h b_h M_h z. With g_h = d_u2 M_h: d_b_h = z . g_h, d_z = sum_h b_h g_h, and M_h has
  // the gradient sum over pairs of b_h d_u2 z. d_last_ becomes d_u = phi' d_z.
  template <typename Mixing>
  HEADWAY_DEVICE void mixing_gradient(const Mixing& mixing) {
    const int dims = x_.value_dim;
    const int pairs = place_.queries * place_.keys;
    const Shared<float> g = last_;
    for (int h = 0; h < heads_; ++h) {
      const Global<const float> m = x_.mixing + static_cast<std::int64_t>(h) * dims * dims;
      Base::multiply({1, pairs, dims, dims}, Operand<Shared<T>>{d_last_, 0, steps_.pair, 1},
                     Operand<Global<const float>>{m, 0, dims, 1},
                     [&](int, int pair, int f, float sum) {
                       const int at = pair * steps_.pair + f;
                       const float b = get(score_, weight_of(h, pair));
                       put(g, at, sum);
                       put(d_hidden_, at, h == 0 ? b * sum : get(d_hidden_, at) + b * sum);
                     });
      for_each(block_, pairs, [&](int pair) { finish_pair(h, pair); });
      Base::multiply({1, dims, dims, pairs}, Operand<Shared<float>>{g, 0, 1, steps_.pair},
                     Operand<Shared<T>>{hidden_, 0, steps_.pair, 1},
                     [&](int, int e, int f, float sum) { mixing(h, e, f, sum); });
    }
    for_each(block_, pairs, dims, [&](int pair, int e) {
      const int at = pair * steps_.pair + e;
      put(d_last_, at, get(d_hidden_, at) * get(slope_, at));
    });
  }

  // d_b_h += z . g_h; then b_h d_u2 in place of g_h.
  HEADWAY_DEVICE void finish_pair(int head, int pair) {
    const int weight = weight_of(head, pair);
    const float b = get(score_, weight);
    float sum = 0.0F;
    for (int e = 0; e < x_.value_dim; ++e) {
      const int at = pair * steps_.pair + e;
      sum += get(hidden_, at) * get(last_, at);
      put(last_, at, b * get(d_last_, at));
    }
    add(d_weight_, weight, sum);
  }
  HEADWAY_DEVICE int weight_of(int head, int pair) const {
    return Base::score_at(head, pair / place_.keys, pair % place_.keys);
  }

  // u = sum_h b_h v: d_weight_ += d_u . v, d_v = sum_q b_h d_u, from d_u = d_last_.
  template <typename Values>
  HEADWAY_DEVICE void first_layer_gradient(int dim, int count, const Values& values) {
    Base::multiply({place_.keys, place_.queries, heads_, count}, Base::queries_by_dims(d_last_),
                   Base::transposed(Base::heads_by_dims(value_, dim)),
                   [&](int key, int query, int head, float sum) {
                     add(d_weight_, Base::score_at(head, query, key), sum);
                   });
    Base::multiply({place_.keys, count, heads_, place_.queries},
                   Base::transposed(Base::queries_by_dims(d_last_)), Base::queries_by_heads(score_),
                   [&](int key, int e, int head, float sum) { values(key, head, dim + e, sum); });
  }
};

}  // namespace headway::training::HEADWAY_GPU
