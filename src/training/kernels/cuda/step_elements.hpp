#pragma once

#include "training/kernels/cuda/step_rows.hpp"

// The kernels of a training step that have a thread for each number, or each few of them.
namespace headway::training::HEADWAY_GPU {

/// work(i), i < count: one thread a number, of all blocks x.
template <typename Work>
HEADWAY_DEVICE void for_numbers(Block& block, std::int64_t count, const Work& work) {
  block.threads([&](int thread) {
    const std::int64_t i = static_cast<std::int64_t>(block.x()) * block.size() + thread;
    if (i < count) work(i);
  });
}

/// x = gelu(x), which `kept` has had; or dx = dx gelu'(kept). For products without such an end.
struct GeluKernel {
  std::int64_t count;
  bool gradient;
  Global<float> x, kept;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, count, [&](std::int64_t i) {
      if (gradient) {
        put(x, i, get(x, i) * apply(Nonlinearity::kGelu, get(kept, i)).slope);
      } else {
        put(kept, i, get(x, i));
        put(x, i, apply(Nonlinearity::kGelu, get(x, i)).value);
      }
    });
  }
};

struct SwigluKernel {
  std::int64_t rows;
  int dim;
  Global<const float> both;
  Global<float> active;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, rows * dim, [&](std::int64_t i) {
      const std::int64_t gate = i / dim * 2 * dim + i % dim;
      put(active, i, apply(Nonlinearity::kSilu, get(both, gate)).value * get(both, gate + dim));
    });
  }
};

struct SwigluGradientKernel {
  std::int64_t rows;
  int dim;
  Global<const float> both, d_active;
  Global<float> d_both;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, rows * dim, [&](std::int64_t i) {
      const std::int64_t gate = i / dim * 2 * dim + i % dim;
      const ValueAndSlope g = apply(Nonlinearity::kSilu, get(both, gate));
      const float d = get(d_active, i);
      put(d_both, gate, d * get(both, gate + dim) * g.slope);
      put(d_both, gate + dim, d * g.value);
    });
  }
};

struct LookUpKernel {
  std::int64_t rows;
  int dim;
  Global<const std::int32_t> ids;
  Global<const float> table;
  Global<float> y;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, rows * dim, [&](std::int64_t i) {
      put(y, i, get(table, static_cast<std::int64_t>(get_bits(ids, i / dim)) * dim + i % dim));
    });
  }
};

/// Block x is an entry of the table.
struct LookUpGradientKernel {
  std::int64_t rows;
  int dim;
  Global<const std::int32_t> ids;
  Global<const float> dy;
  Global<float> d_table;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_each(block, dim, [&](int c) {
      float sum = 0.0F;
      for (std::int64_t row = 0; row < rows; ++row) {
        if (get_bits(ids, row) == block.x()) sum += get(dy, row * dim + c);
      }
      put(d_table, static_cast<std::int64_t>(block.x()) * dim + c, sum);
    });
  }
};

struct SomeTokensKernel {
  std::int64_t examples;
  int tokens, first, wanted, dim;
  Global<const float> from;
  Global<float> to;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const std::int64_t length = static_cast<std::int64_t>(wanted) * dim;
    for_numbers(block, examples * length, [&](std::int64_t i) {
      put(to, i, get(from, (i / length * tokens + first) * dim + i % length));
    });
  }
};

struct SomeTokensGradientKernel {
  std::int64_t examples;
  int tokens, first, wanted, dim, cleared_columns, cleared_row;
  Global<const float> from, base;
  Global<float> to, cleared;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const int columns = dim + cleared_columns;
    for_numbers(block, examples * tokens * columns, [&](std::int64_t i) {
      const std::int64_t row = i / columns;
      const int column = static_cast<int>(i % columns);
      const int place = static_cast<int>(row % tokens) - first;
      const bool there = place >= 0 && place < wanted;
      if (column < dim) {
        const std::int64_t at = (row / tokens * wanted + place) * dim + column;
        const float before = base == nullptr ? 0.0F : get(base, row * dim + column);
        put(to, row * dim + column, there ? before + get(from, at) : before);
      } else if (!there) {
        put(cleared, row * cleared_row + column - dim, 0.0F);
      }
    });
  }
};

struct RotationKernel {
  std::int64_t rows;
  int tokens, row, heads, half;
  float direction;  ///< 1, or -1: back
  Global<const float> table;
  Global<float> x;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const int pairs = heads * half;
    for_numbers(block, rows * pairs, [&](std::int64_t i) {
      const std::int64_t r = i / pairs;
      const int pair = static_cast<int>(i % pairs);
      const std::int64_t angle = (r % tokens * half + pair % half) * 2;
      const float cosine = get(table, angle);
      const float sine = direction * get(table, angle + 1);
      const std::int64_t at = r * row + pair / half * 2 * half + pair % half;
      const float a = get(x, at);
      const float b = get(x, at + half);
      put(x, at, cosine * a - sine * b);
      put(x, at + half, sine * a + cosine * b);
    });
  }
};

struct QuerySumsKernel {
  std::int64_t rows;
  int dim, copies, tokens;
  TokenSteps steps;
  Global<const float> from;
  Global<float> to;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, rows * dim, [&](std::int64_t i) {
      float sum = 0.0F;
      for (int c = 0; c < copies; ++c) sum += get(from, c * rows * dim + i);
      const std::int64_t row = i / dim;
      put(to, row / tokens * steps.example + row % tokens * steps.token + i % dim, sum);
    });
  }
};

}  // namespace headway::training::HEADWAY_GPU
