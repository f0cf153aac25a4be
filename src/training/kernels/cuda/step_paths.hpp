#pragma once

#include "training/kernels/cuda/step_elements.hpp"

// The kernels of a linear-value network in a training step (training/step/step_operations.hpp).
namespace headway::training::HEADWAY_GPU {

/// What a block of (layer, example, head) works on: block x is example and head, block y the layer.
struct PathHead {
  int tokens, dim;
  std::int64_t pairs;    ///< where its Omega begins
  std::int64_t queries;  ///< where the query of its first token is; keys are `keys` behind
  std::int64_t token_step, keys;
  float scale;
};
// NOLINTNEXTLINE(readability-function-size): sizes of an operation
HEADWAY_DEVICE PathHead path_head(const Block& block, int examples, int tokens, int heads,
                                  int dim) {
  const std::int64_t layer = block.y();
  const int example = block.x_of_run() / heads;
  const int head = block.x_of_run() % heads;
  const std::int64_t row = 2 * static_cast<std::int64_t>(heads) * dim;
  return {tokens,
          dim,
          ((layer * examples + example) * heads + head) * tokens * tokens,
          (layer * examples + example) * tokens * row + static_cast<std::int64_t>(head) * dim,
          row,
          static_cast<std::int64_t>(heads) * dim,
          1.0F / sqrtf(static_cast<float>(dim))};
}

struct PathAttentionKernel {
  int examples, tokens, heads, dim;
  Numbers<const float> projected;
  ArrayOfRuns<float> omega;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const PathHead n = path_head(block, examples, tokens, heads, dim);
    for_each(block, tokens, tokens, [&](int query, int key) {
      float sum = 0.0F;
      for (int i = 0; i < dim; ++i) {
        sum = fused(get(projected, n.queries + query * n.token_step + i),
                    get(projected, n.queries + n.keys + key * n.token_step + i), sum);
      }
      put(omega, n.pairs + query * tokens + key, n.scale * sum);
    });
    for_each(block, tokens, [&](int query) {
      const std::int64_t row = n.pairs + query * tokens;
      float most = -INFINITY;
      for (int k = 0; k < tokens; ++k) {
        const float s = get(omega, row + k);
        if (!(s <= most)) most = s;
      }
      float sum = 0.0F;
      for (int k = 0; k < tokens; ++k) sum += expf(get(omega, row + k) - most);
      for (int k = 0; k < tokens; ++k) {
        put(omega, row + k, expf(get(omega, row + k) - most) / sum);
      }
    });
  }
};

struct PathAttentionGradientKernel {
  int examples, tokens, heads, dim;
  Numbers<const float> projected;
  ArrayOfRuns<const float> omega;
  ArrayOfRuns<float> d_omega;
  Numbers<float> d_projected;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const PathHead n = path_head(block, examples, tokens, heads, dim);
    for_each(block, tokens, [&](int query) {
      const std::int64_t row = n.pairs + query * tokens;
      float along = 0.0F;
      for (int k = 0; k < tokens; ++k)
        along = fused(get(omega, row + k), get(d_omega, row + k), along);
      for (int k = 0; k < tokens; ++k) {
        put(d_omega, row + k, n.scale * get(omega, row + k) * (get(d_omega, row + k) - along));
      }
    });
    for_each(block, tokens, dim, [&](int token, int i) {
      float d_query = 0.0F;
      float d_key = 0.0F;
      for (int other = 0; other < tokens; ++other) {
        const std::int64_t at = n.queries + other * n.token_step + i;
        const float to_other = get(d_omega, n.pairs + token * tokens + other);
        const float from_other = get(d_omega, n.pairs + other * tokens + token);
        d_query = fused(projected.operand(to_other), get(projected, at + n.keys), d_query);
        d_key = fused(projected.operand(from_other), get(projected, at), d_key);
      }
      const std::int64_t at = n.queries + token * n.token_step + i;
      put(d_projected, at, d_query);
      put(d_projected, at + n.keys, d_key);
    });
  }
};

struct PathRowsKernel {
  std::int64_t examples;
  int tokens, heads, rows;
  Numbers<const float> above;
  ArrayOfRuns<const float> omega;
  Numbers<float> out;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const std::int64_t of_head = static_cast<std::int64_t>(rows) * tokens;
    for_numbers(block, examples * heads * of_head, [&](std::int64_t i) {
      const std::int64_t head = i / of_head;  // of all examples
      const std::int64_t row = head / heads * rows + i % of_head / tokens;
      const std::int64_t column = head * tokens * tokens + i % tokens;
      float sum = 0.0F;
      for (int q = 0; q < tokens; ++q) {
        const float share =
            above == nullptr ? 1.0F / static_cast<float>(tokens) : get(above, row * tokens + q);
        const float weight = get(omega, column + static_cast<std::int64_t>(q) * tokens);
        sum = fused(share, out.operand(weight), sum);
      }
      put(out, i, sum);
    });
  }
};

/// Block y is 0 for d_omega and 1 for d_above.
struct PathRowsGradientKernel {
  std::int64_t examples;
  int tokens, heads, rows;
  Numbers<const float> above;
  ArrayOfRuns<const float> omega;
  Numbers<const float> d_out;
  ArrayOfRuns<float> d_omega;
  Numbers<float> d_above;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const std::int64_t of_head = static_cast<std::int64_t>(rows) * tokens;
    const std::int64_t pairs = static_cast<std::int64_t>(tokens) * tokens;
    if (block.y() == 0) {
      for_numbers(block, examples * heads * pairs, [&](std::int64_t i) {
        const std::int64_t head = i / pairs;
        const std::int64_t query = i % pairs / tokens;
        float sum = 0.0F;
        for (int g = 0; g < rows; ++g) {
          const float share = above == nullptr
                                  ? 1.0F / static_cast<float>(tokens)
                                  : get(above, (head / heads * rows + g) * tokens + query);
          sum = fused(share, get(d_out, head * of_head + g * tokens + i % tokens), sum);
        }
        put(d_omega, i, sum);
      });
      return;
    }
    for_numbers(block, examples * of_head, [&](std::int64_t i) {
      const std::int64_t example = i / of_head;
      const std::int64_t row = i % of_head / tokens;
      const std::int64_t query = i % tokens;
      float sum = 0.0F;
      for (int h = 0; h < heads; ++h) {
        const std::int64_t head = example * heads + h;
        for (int k = 0; k < tokens; ++k) {
          const float weight = get(omega, head * pairs + query * tokens + k);
          sum = fused(get(d_out, head * of_head + row * tokens + k), d_out.operand(weight), sum);
        }
      }
      put(d_above, i, sum);
    });
  }
};

}  // namespace headway::training::HEADWAY_GPU
