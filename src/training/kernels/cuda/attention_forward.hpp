#pragma once

#include "training/kernels/cuda/pair_tiles.hpp"

namespace headway::training::HEADWAY_GPU {

/// A block makes the outputs of a tile of queries of one example (block x: example and run of
/// heads, block y: tile) while the keys pass by. Softmax sweeps over the scores once before, for
/// the log of its sum.
template <Arithmetic kind, typename T>
class AttentionForward : private PairTiles<kind, T> {
  using Base = PairTiles<kind, T>;
  using Base::block_;
  using Base::heads_;
  using Base::hidden_;
  using Base::place_;
  using Base::score_;
  using Base::steps_;
  using Base::x_;

 public:
  template <typename Memory>
  HEADWAY_DEVICE AttentionForward(Block& block, Memory& memory,
                                  const AttentionArguments<T>& arguments)
      : Base(block, arguments) {
    Base::take_shared(memory);
    output_ = memory.template take<float>("output", x_.plan.tile_queries * steps_.value_row);
    if (!Base::softmax()) return;
    largest_ = memory.template take<float>("largest", heads_ * x_.plan.tile_queries);
  }

  HEADWAY_DEVICE void run() {
    const int slices = x_.heads / heads_;
    place_.example = block_.x() / slices;
    place_.first_head = block_.x() % slices * heads_;
    place_.first_query = block_.y() * x_.plan.tile_queries;
    const int left = x_.queries - place_.first_query;
    place_.queries = left < x_.plan.tile_queries ? left : x_.plan.tile_queries;
    Base::load_queries();
    fill(block_, output_, place_.queries * steps_.value_row, 0.0F);
    if (Base::softmax()) find_log_sums();
    for_tiles_of_keys([&] {
      Base::load_keys();
      Base::load_values();
      Base::compute_scores();
      Base::compute_weights([](int, int, float, float) {}, [](int, float) {});
      add_outputs();
    });
    store_outputs();
  }

 private:
  template <typename Work>
  HEADWAY_DEVICE void for_tiles_of_keys(const Work& work) {
    const int end = Base::end_of_keys();
    for (int key = 0; key < end; key += x_.plan.tile_keys) {
      place_.first_key = key;
      place_.keys = end - key < x_.plan.tile_keys ? end - key : x_.plan.tile_keys;
      work();
    }
  }

  // log_sum_ = log sum_k exp s, +infinity where a query sees no key.
  HEADWAY_DEVICE void find_log_sums() {
    const int rows = heads_ * x_.plan.tile_queries;
    fill(block_, largest_, rows, -INFINITY);
    fill(block_, Base::log_sum_, rows, 0.0F);  // sum_k exp(s - largest) so far
    for_tiles_of_keys([&] {
      Base::load_keys();
      Base::compute_scores();
      for_each(block_, heads_, place_.queries,
               [&](int head, int query) { add_to_sum(head, query); });
    });
    for_each(block_, heads_, place_.queries, [&](int head, int query) {
      const int at = head * x_.plan.tile_queries + query;
      const float sum = get(Base::log_sum_, at);
      const float log_sum = sum == 0.0F ? INFINITY : get(largest_, at) + logf(sum);
      put(Base::log_sum_, at, log_sum);
      put(x_.log_sum_exp, Base::query_offset(head, query), log_sum);
    });
  }

  HEADWAY_DEVICE void add_to_sum(int head, int query) {
    const int at = head * x_.plan.tile_queries + query;
    const float before = get(largest_, at);
    float largest = before;
    for (int k = 0; k < place_.keys; ++k) {
      const float s = get(score_, Base::score_at(head, query, k));
      if (s > largest) largest = s;
    }
    float sum = get(Base::log_sum_, at);
    if (largest > before) sum *= expf(before - largest);
    for (int k = 0; k < place_.keys; ++k) {
      const float s = get(score_, Base::score_at(head, query, k));
      if (s != -INFINITY) sum += expf(s - largest);
    }
    put(largest_, at, largest);
    put(Base::log_sum_, at, sum);
  }

  // o[q, h] += sum_k b of what the value network makes (eqs. 5 to 7).
  HEADWAY_DEVICE void add_outputs() {
    const int dims = x_.value_dim;
    const Nonlinearity phi = x_.options.nonlinearity;
    if (Base::plain()) {
      Base::multiply({heads_, place_.queries, dims, place_.keys}, Base::queries_by_keys(score_),
                     Base::tokens_by_dims(Base::value_, steps_.value_row, dims),
                     [&](int head, int query, int e, float sum) {
                       add(output_, query * steps_.value_row + head * dims + e, sum);
                     });
      return;
    }
    for (int dim = 0; dim < dims; dim += x_.plan.tile_dims) {
      const int count = dims - dim < x_.plan.tile_dims ? dims - dim : x_.plan.tile_dims;
      Base::generate(dim, count, [&](int at, float u) { put(hidden_, at, apply(phi, u).value); });
      if (Base::deep()) {
        Base::mix();
        for_each(block_, place_.queries * place_.keys, dims, [&](int pair, int e) {
          const int at = pair * steps_.pair + e;
          put(hidden_, at, apply(phi, get(Base::last_, at)).value);
        });
      }
      Base::multiply({place_.queries, count, heads_, place_.keys},
                     Base::transposed(Base::keys_by_dims(hidden_)), Base::keys_by_heads(score_),
                     [&](int query, int e, int head, float sum) {
                       add(output_, query * steps_.value_row + head * dims + dim + e, sum);
                     });
    }
  }

  HEADWAY_DEVICE void store_outputs() {
    const Global<T> to = x_.output + Base::offset(place_.first_query, x_.queries, x_.value_dim);
    const std::int64_t token_step = static_cast<std::int64_t>(x_.heads) * x_.value_dim;
    for_each(block_, place_.queries, heads_ * x_.value_dim, [&](int row, int column) {
      put(to, row * token_step + column, get(output_, row * steps_.value_row + column));
    });
  }

  Shared<float> output_;        // [query][head][dv]
  Shared<float> largest_ = {};  // [head][query]: of the scores so far
};

}  // namespace headway::training::HEADWAY_GPU
