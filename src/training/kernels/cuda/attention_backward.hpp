#pragma once

#include "training/kernels/cuda/value_gradient.hpp"

namespace headway::training::HEADWAY_GPU {

/// over_keys = sum_k b d_b of each query and head, which the gradient of softmax subtracts:
/// d_output . output of a plain network, else a sweep over the keys. Blocks as in AttentionForward.
template <Arithmetic kind, typename T>
class SumsOverKeys : private ValueGradient<kind, T> {
  using Base = ValueGradient<kind, T>;
  using Base::block_;
  using Base::gradients_;
  using Base::heads_;
  using Base::place_;
  using Base::x_;

 public:
  template <typename Memory>
  HEADWAY_DEVICE SumsOverKeys(Block& block, Memory& memory, const AttentionArguments<T>& arguments,
                              const GradientArguments<T>& gradients)
      : Base(block, arguments, gradients) {
    Base::take_shared(memory);
  }

  HEADWAY_DEVICE void run() {
    const int slices = x_.heads / heads_;
    place_.example = block_.x() / slices;
    place_.first_head = block_.x() % slices * heads_;
    Base::choose_queries(block_.y() * x_.plan.tile_queries);
    if (Base::plain()) {
      for_each(block_, heads_, place_.queries,
               [&](int head, int query) { multiply_outputs(head, query); });
      return;
    }
    Base::load_query_side();
    const int end = Base::end_of_keys();
    for (int key = 0; key < end; key += x_.plan.tile_keys) {
      Base::choose_keys(key, end);
      Base::load_keys();
      Base::load_values();
      Base::recompute_weights();
      Base::weight_gradient([](int, int, int, float) {}, [](int, int, int, float) {});
      for_each(block_, heads_, place_.queries, [&](int head, int query) { add_tile(head, query); });
    }
    for_each(block_, heads_, place_.queries, [&](int head, int query) {
      put(gradients_.over_keys, Base::query_offset(head, query),
          get(Base::over_keys_, head * x_.plan.tile_queries + query));
    });
  }

 private:
  HEADWAY_DEVICE void multiply_outputs(int head, int query) {
    const std::int64_t at =
        Base::offset(place_.first_query + query, x_.queries, x_.value_dim) + head * x_.value_dim;
    float sum = 0.0F;
    for (int e = 0; e < x_.value_dim; ++e) {
      sum = fused(get(gradients_.d_output, at + e), get(gradients_.output, at + e), sum);
    }
    put(gradients_.over_keys, Base::query_offset(head, query), sum);
  }

  HEADWAY_DEVICE void add_tile(int head, int query) {
    float sum = 0.0F;
    for (int k = 0; k < place_.keys; ++k) {
      const int at = Base::score_at(head, query, k);
      sum = fused(get(Base::score_, at), get(Base::d_weight_, at), sum);
    }
    add(Base::over_keys_, head * x_.plan.tile_queries + query, sum);
  }
};

/// A block makes the gradients of the keys and values of a slice of keys, of a run of examples one
/// after the other (block x: run of examples and run of heads, block y: slice): tiles of keys
/// outer, queries inner. What other slices and runs add to as well (queries, bias, M_h) it sums in
/// a copy of its own, which SumOfCopiesKernel adds up in a fixed order: no atomic operation, the
/// same bits always.
template <Arithmetic kind, typename T>
class AttentionBackward : private ValueGradient<kind, T> {
  using Base = ValueGradient<kind, T>;
  using Base::block_;
  using Base::d_weight_;
  using Base::gradients_;
  using Base::heads_;
  using Base::place_;
  using Base::steps_;
  using Base::x_;

 public:
  template <typename Memory>
  HEADWAY_DEVICE AttentionBackward(Block& block, Memory& memory,
                                   const AttentionArguments<T>& arguments,
                                   const GradientArguments<T>& gradients)
      : Base(block, arguments, gradients) {
    Base::take_shared(memory);
    d_key_ = memory.template take<float>("d_key", x_.plan.tile_keys * steps_.query_row);
    d_value_ = memory.template take<float>("d_value", x_.plan.tile_keys * steps_.value_row);
  }

  HEADWAY_DEVICE void run() {
    const int head_slices = x_.heads / heads_;
    group_ = block_.x() / head_slices;
    place_.first_head = block_.x() % head_slices * heads_;
    first_key_ = block_.y() * x_.plan.slice_keys;
    const int end = first_key_ + x_.plan.slice_keys;
    end_key_ = end < x_.keys ? end : x_.keys;
    clear_sums();
    const auto example_at = [&](int group) {
      return static_cast<int>(static_cast<std::int64_t>(group) * x_.batch / x_.plan.groups);
    };
    for (int example = example_at(group_); example < example_at(group_ + 1); ++example) {
      place_.example = example;
      clear_queries();
      for (int key = first_key_; key < end_key_; key += x_.plan.tile_keys) run_keys(key);
      if (!(gradients_.query == nullptr)) store_queries();
    }
  }

 private:
  HEADWAY_DEVICE void run_keys(int key) {
    Base::choose_keys(key, end_key_);
    Base::load_keys();
    Base::load_values();
    fill(block_, d_key_, place_.keys * steps_.query_row, 0.0F);
    fill(block_, d_value_, place_.keys * steps_.value_row, 0.0F);
    for (int query = 0; query < x_.queries; query += x_.plan.tile_queries) {
      Base::choose_queries(query);
      if (Base::end_of_keys() > key) run_tile();
    }
    store_keys();
  }

  HEADWAY_DEVICE void run_tile() {
    Base::load_query_side();
    Base::recompute_weights();
    Base::weight_gradient(
        [&](int key, int head, int e, float sum) {
          add(d_value_, key * steps_.value_row + head * x_.value_dim + e, sum);
        },
        [&](int head, int e, int f, float sum) {
          add(gradients_.mixing_sums,
              mixing_offset() +
                  (static_cast<std::int64_t>(head) * x_.value_dim + e) * x_.value_dim + f,
              sum);
        });
    Base::score_gradient();
    add_bias_gradient();
    const auto queries = Base::tokens_by_dims(Base::query_, steps_.query_row, x_.query_dim);
    Base::multiply({heads_, place_.keys, x_.query_dim, place_.queries},
                   Base::transposed(Base::queries_by_keys(d_weight_)), queries,
                   [&](int head, int key, int i, float sum) {
                     add(d_key_, key * steps_.query_row + head * x_.query_dim + i, sum);
                   });
    const Global<float> d_query = query_sums(place_.first_query);
    const std::int64_t token_step = gradients_.query_sum_steps.token;
    const float scale = 1.0F / sqrtf(static_cast<float>(x_.query_dim));
    Base::multiply({heads_, place_.queries, x_.query_dim, place_.keys},
                   Base::queries_by_keys(d_weight_),
                   Base::tokens_by_dims(Base::key_, steps_.query_row, x_.query_dim),
                   [&](int head, int query, int i, float sum) {
                     add(d_query, query * token_step + head * x_.query_dim + i, scale * sum);
                   });
  }

  // --- sums of this block's own ---------------------------------------------------------------

  // Of the gradient of queries: this slice's copy, from a token of the example on.
  HEADWAY_DEVICE Global<float> query_sums(int token) const {
    const std::int64_t copy =
        static_cast<std::int64_t>(x_.batch) * x_.queries * x_.heads * x_.query_dim;
    return gradients_.query_sums +
           (block_.y() * copy + Base::offset(token, gradients_.query_sum_steps, x_.query_dim));
  }
  HEADWAY_DEVICE std::int64_t mixing_offset() const {
    return (static_cast<std::int64_t>(group_) * x_.plan.key_slices + block_.y()) * x_.heads *
           x_.value_dim * x_.value_dim;
  }
  // Of (head, query, key) in this run's copy, key of the layer.
  HEADWAY_DEVICE std::int64_t bias_offset(int head, int query, int key) const {
    return ((static_cast<std::int64_t>(group_) * x_.heads + place_.first_head + head) * x_.queries +
            query) *
               x_.keys +
           key;
  }

  HEADWAY_DEVICE void clear_sums() {
    if (!(gradients_.bias_sums == nullptr)) {
      const int keys = end_key_ - first_key_;
      for (int head = 0; head < heads_; ++head) {
        for_each(block_, x_.queries, keys, [&](int query, int key) {
          put(gradients_.bias_sums, bias_offset(head, query, first_key_ + key), 0.0F);
        });
      }
    }
    if (!Base::deep()) return;
    for_each(block_, x_.heads * x_.value_dim * x_.value_dim,
             [&](int i) { put(gradients_.mixing_sums, mixing_offset() + i, 0.0F); });
  }

  HEADWAY_DEVICE void clear_queries() {
    const Global<float> sums = query_sums(0);
    const std::int64_t token_step = gradients_.query_sum_steps.token;
    for_each(block_, x_.queries, heads_ * x_.query_dim,
             [&](int row, int column) { put(sums, row * token_step + column, 0.0F); });
  }

  HEADWAY_DEVICE void add_bias_gradient() {
    if (gradients_.bias_sums == nullptr) return;
    for (int head = 0; head < heads_; ++head) {
      for_each(block_, place_.queries, place_.keys, [&](int query, int key) {
        add(gradients_.bias_sums,
            bias_offset(head, place_.first_query + query, place_.first_key + key),
            get(d_weight_, Base::score_at(head, query, key)));
      });
    }
  }

  // --- results ------------------------------------------------------------------------------

  // The example's gradient of queries, where the slice has all keys.
  HEADWAY_DEVICE void store_queries() {
    const Global<float> sums = query_sums(0);
    const std::int64_t sum_step = gradients_.query_sum_steps.token;
    const Global<T> to = gradients_.query + Base::offset(0, x_.query_steps, x_.query_dim);
    const std::int64_t token_step = x_.query_steps.token;
    for_each(block_, x_.queries, heads_ * x_.query_dim, [&](int row, int column) {
      put(to, row * token_step + column, get(sums, row * sum_step + column));
    });
  }

  HEADWAY_DEVICE void store_keys() {
    store_rows(d_key_, steps_.query_row, x_.query_dim, gradients_.key, x_.key_steps,
               [](std::int64_t) { return 1.0F; });
    const bool sloped = Base::plain() && x_.options.nonlinearity != Nonlinearity::kIdentity;
    const auto slope = [&](std::int64_t at) {
      return sloped ? apply(x_.options.nonlinearity, get(x_.value, at)).slope : 1.0F;
    };
    store_rows(d_value_, steps_.value_row, x_.value_dim, gradients_.value, x_.value_steps, slope);
  }

  template <typename Factor>
  HEADWAY_DEVICE void store_rows(Shared<float> from, int row_step, int dim, Global<T> to,
                                 const TokenSteps& steps, const Factor& factor) {
    const std::int64_t start = Base::offset(place_.first_key, steps, dim);
    const std::int64_t token_step = steps.token;
    for_each(block_, place_.keys, heads_ * dim, [&](int row, int column) {
      const std::int64_t at = start + row * token_step + column;
      put(to, at, factor(at) * get(from, row * row_step + column));
    });
  }

  int group_ = 0;
  int first_key_ = 0, end_key_ = 0;  // of the slice
  Shared<float> d_key_;              // [key][head][d]
  Shared<float> d_value_;            // [key][head][dv], of phi(v) for a plain network
};

/// out[i] = sum of copies[c][i] over c in order, i < count: one thread a sum.
template <typename T>
HEADWAY_DEVICE void sum_copies(Block& block, Global<const float> copies, int count_of_copies,
                               std::int64_t count, Global<T> out) {
  block.threads([&](int thread) {
    const std::int64_t i = static_cast<std::int64_t>(block.x()) * block.size() + thread;
    if (i >= count) return;
    float sum = 0.0F;
    for (int c = 0; c < count_of_copies; ++c) sum += get(copies, c * count + i);
    put(out, i, sum);
  });
}

}  // namespace headway::training::HEADWAY_GPU
