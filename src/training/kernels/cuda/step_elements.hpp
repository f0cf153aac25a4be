#pragma once

#include "training/kernels/cuda/divisor.hpp"
#include "training/kernels/cuda/step_rows.hpp"
#include "training/step/step_operations.hpp"

// The kernels of a training step that have a thread for each number, or each few of them.
namespace headway::training::HEADWAY_GPU {

/// work(i), i < count: one thread a number, of all blocks x.
template <typename Work>
HEADWAY_DEVICE void for_numbers(Block& block, std::int64_t count, const Work& work) {
  block.threads([&](int thread) {
    const std::int64_t i = static_cast<std::int64_t>(block.x_of_run()) * block.size() + thread;
    if (i < count) work(i);
  });
}

/// What a product does with number i before it is written.
HEADWAY_DEVICE float ended(detail::ProductEnd end, float number, const Numbers<float>& kept,
                           std::int64_t i) {
  if (end == detail::ProductEnd::kGelu) {
    put(kept, i, number);
    return apply(Nonlinearity::kGelu, number).value;
  }
  if (end == detail::ProductEnd::kGeluGradient) {
    return number * apply(Nonlinearity::kGelu, get(kept, i)).slope;
  }
  return number;
}

/// A product that a library does not have (StepProduct): a thread has a number of `out`.
struct PlainProductKernel {
  struct Factor {
    Numbers<const float> numbers;
    std::int64_t batch;
    std::int64_t outer, inner;  ///< from a row of `out`, or a column, to the next; along the sum
  };
  std::int64_t rows, columns, inner, count;
  bool tf32;
  Factor left, right;
  detail::ProductEnd end;
  Numbers<const float> bias, added;
  std::int64_t added_batch, added_row, out_batch, out_row;
  Numbers<float> kept, out;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, count, [&](std::int64_t i) {
      const std::int64_t batch = i / (rows * columns);
      const std::int64_t row = i / columns % rows;
      const std::int64_t column = i % columns;
      float sum = 0.0F;
      for (std::int64_t k = 0; k < inner; ++k) {
        sum = fused(factor(left, batch, row, k), factor(right, batch, column, k), sum);
      }
      if (!(bias == nullptr)) sum += get(bias, column);
      if (!(added == nullptr)) sum += get(added, batch * added_batch + row * added_row + column);
      put(out, batch * out_batch + row * out_row + column,
          ended(end, sum, kept, row * columns + column));
    });
  }
  HEADWAY_DEVICE float factor(const Factor& x, std::int64_t batch, std::int64_t outer,
                              std::int64_t k) const {
    const float number = get(x.numbers, batch * x.batch + outer * x.outer + k * x.inner);
    return tf32 ? to_tf32(number) : number;
  }
};

/// Block y is a part, block x has kNumbers of its numbers. Each thread loads its own at once.
struct RoundingKernel {
  struct Part {
    std::int64_t count;
    ArrayOfRuns<const float> from;
    ArrayOfRuns<Bf16> to;
  };
  static constexpr int kOfThread = 8;
  static constexpr int kNumbers = kOfThread * kStepThreads;
  static constexpr int kMostParts = detail::StepRounding::kMostParts;
  Part parts[kMostParts];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const Part& part = parts[block.y()];
    const std::int64_t first = static_cast<std::int64_t>(block.x_of_run()) * kNumbers;
    if (first >= part.count) return;
    const int count =
        part.count - first < kNumbers ? static_cast<int>(part.count - first) : kNumbers;
    block.threads([&](int thread) {
      const Global<const float> from = part.from + (first + thread);
      const Global<Bf16> to = part.to + (first + thread);
      float x[kOfThread];
      HEADWAY_UNROLL
      for (int k = 0; k < kOfThread; ++k) {
        if (k * kStepThreads + thread < count) x[k] = get(from, k * kStepThreads);
      }
      HEADWAY_UNROLL
      for (int k = 0; k < kOfThread; ++k) {
        if (k * kStepThreads + thread < count) put(to, k * kStepThreads, x[k]);
      }
    });
  }
};

/// Block y is a part.
struct SwapKernel {
  struct Part {
    ArrayOfRuns<const float> from;
    Numbers<float> to;
  };
  static constexpr int kMostParts = detail::StepPositions::kMostLayers;
  int first, second, inner;
  Part parts[kMostParts];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const Part& part = parts[block.y()];
    const std::int64_t row = static_cast<std::int64_t>(first) * inner;
    for_numbers(block, second * row, [&](std::int64_t i) {
      const std::int64_t b = i / row;
      const std::int64_t a = i % row / inner;
      put(part.to, i, get(part.from, (a * second + b) * inner + i % inner));
    });
  }
};

/// Block y is a part.
struct ScaledCopiesKernel {
  struct Part {
    std::int64_t count;
    int copies;
    float factor;
    ArrayOfRuns<const float> from;
    Numbers<float> to;
  };
  static constexpr int kMostParts = detail::StepPositions::kMostLayers;
  Part parts[kMostParts];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const Part& part = parts[block.y()];
    for_numbers(block, part.count, [&](std::int64_t i) {
      const float number = part.factor * get(part.from, i);
      for (int c = 0; c < part.copies; ++c) put(part.to, c * part.count + i, number);
    });
  }
};

struct SwigluKernel {
  std::int64_t rows;
  int dim;
  Divisor by_dim;
  Numbers<const float> both;
  Numbers<float> active;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, rows * dim, [&](std::int64_t i) {
      const std::int64_t gate = i + by_dim.quotient(i) * dim;
      put(active, i, apply(Nonlinearity::kSilu, get(both, gate)).value * get(both, gate + dim));
    });
  }
};

struct SwigluGradientKernel {
  std::int64_t rows;
  int dim;
  Divisor by_dim;
  Numbers<const float> both, d_active;
  Numbers<float> d_both;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, rows * dim, [&](std::int64_t i) {
      const std::int64_t gate = i + by_dim.quotient(i) * dim;
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
  Divisor by_dim;
  ArrayOfRuns<const std::int32_t> ids;
  ArrayOfRuns<const float> table;
  ArrayOfRuns<float> y;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, rows * dim, [&](std::int64_t i) {
      const std::int64_t row = by_dim.quotient(i);
      put(y, i, get(table, i + (get_bits(ids, row) - row) * dim));
    });
  }
};

struct SomeTokensKernel {
  std::int64_t examples;
  int tokens, first, wanted, dim;
  Divisor by_length;  ///< wanted dim
  ArrayOfRuns<const float> from;
  ArrayOfRuns<float> to;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const std::int64_t length = static_cast<std::int64_t>(wanted) * dim;
    for_numbers(block, examples * length, [&](std::int64_t i) {
      const std::int64_t example = by_length.quotient(i);
      put(to, i, get(from, i + (example * (tokens - wanted) + first) * dim));
    });
  }
};

struct SomeTokensGradientKernel {
  std::int64_t examples;
  int tokens, first, wanted, dim, cleared_columns, cleared_row;
  Divisor by_columns, by_tokens;  ///< dim + cleared_columns
  ArrayOfRuns<const float> from, base;
  ArrayOfRuns<float> to;
  ArrayOfRuns<Bf16> rounded;
  Numbers<float> cleared;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const int columns = dim + cleared_columns;
    for_numbers(block, examples * tokens * columns, [&](std::int64_t i) {
      const std::int64_t row = by_columns.quotient(i);
      const auto column = static_cast<int>(i - row * columns);
      const std::int64_t example = by_tokens.quotient(row);
      const int place = static_cast<int>(row - example * tokens) - first;
      const bool there = place >= 0 && place < wanted;
      if (column < dim) {
        const std::int64_t at = (example * wanted + place) * dim + column;
        const float before = base == nullptr ? 0.0F : get(base, row * dim + column);
        const float sum = there ? before + get(from, at) : before;
        put(to, row * dim + column, sum);
        if (!(rounded == nullptr)) put(rounded, row * dim + column, sum);
      } else if (!there) {
        put(cleared, row * cleared_row + column - dim, 0.0F);
      }
    });
  }
};

struct RotationKernel {
  std::int64_t rows;
  int tokens, row, heads, half;
  Divisor by_pairs, by_half, by_tokens;  ///< pairs: heads half
  float direction;                       ///< 1, or -1: back
  Global<const float> table;
  Numbers<float> x;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const int pairs = heads * half;
    for_numbers(block, rows * pairs, [&](std::int64_t i) {
      const std::int64_t r = by_pairs.quotient(i);
      const std::int64_t pair = i - r * pairs;
      const std::int64_t before = by_half.quotient(pair) * half;  // pairs of the heads before
      const std::int64_t angle = (by_tokens.remainder(r) * half + pair - before) * 2;
      const float cosine = get(table, angle);
      const float sine = direction * get(table, angle + 1);
      const std::int64_t at = r * row + before + pair;
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
  Numbers<float> to;

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
