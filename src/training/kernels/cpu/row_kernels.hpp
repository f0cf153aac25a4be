// What a transformer computes along the rows of a matrix, between its matrix products. One text,
// compiled for each instruction set (row_kernel_set.hpp), chosen at run time.
#pragma once

#include <cstddef>

namespace headway::training::detail {

/// Sizes and arrays of a norm over rows [rows, dim]; `bias` may be null. `centred` says LayerNorm,
/// y = (x - mean) r scale + bias with r = 1 / sqrt(variance + 1e-6); else RMSNorm, without the
/// mean.
struct NormRows {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t dim = 0;
  const float* scale = nullptr;
  const float* bias = nullptr;
  bool centred = true;
};

struct AdamWRates {
  float beta_1, beta_2;
  float rest_1, rest_2;  ///< 1 - beta, rounded from double: 1 - beta_2 in float would be off
  float first;           ///< rate / (1 - beta_1^t)
  float second;          ///< 1 / (1 - beta_2^t)
  float epsilon;
  float shrink;  ///< 1 - rate decay
  float clip;
};

struct RowKernels {
  const char* name;
  /// y; where `stats` is not null also mean and r of each row, [rows, 2].
  void (*norm)(const NormRows& n, const float* x, float* y, float* stats);
  /// dx = base + gradient of x, without a base where that is null; d_scale, d_bias += (d_bias may
  /// be null).
  void (*norm_backward)(const NormRows& n, const float* x, const float* stats, const float* dy,
                        const float* base, float* dx, float* d_scale, float* d_bias);
  /// y[r] = gelu(x[r] + bias), in its tanh form.
  void (*gelu)(std::ptrdiff_t rows, std::ptrdiff_t dim, const float* bias, const float* x,
               float* y);
  /// d[r] = d[r] gelu'(x[r] + bias), and y again.
  void (*gelu_backward)(std::ptrdiff_t rows, std::ptrdiff_t dim, const float* bias, const float* x,
                        float* y, float* d);
  /// y = silu(g) u.
  void (*swiglu)(std::ptrdiff_t count, const float* g, const float* u, float* y);
  /// From d = dy: dg and du, and y again.
  void (*swiglu_backward)(std::ptrdiff_t count, const float* g, const float* u, const float* d,
                          float* y, float* dg, float* du);
  /// y[r] = bias, and x[r] + bias.
  void (*fill_rows)(std::ptrdiff_t rows, std::ptrdiff_t dim, const float* bias, float* y);
  void (*add_rows)(std::ptrdiff_t rows, std::ptrdiff_t dim, const float* x, const float* bias,
                   float* y);
  /// sums += sum over rows of x.
  void (*column_sums)(std::ptrdiff_t rows, std::ptrdiff_t dim, const float* x, float* sums);
  /// y += x.
  void (*add)(std::ptrdiff_t count, const float* x, float* y);
  /// Each row of x, [rows, dim], becomes softmax(scale x).
  void (*softmax)(std::ptrdiff_t rows, std::ptrdiff_t dim, float scale, float* x);
  /// From y = softmax(scale x) and d = dy: d becomes scale y (dy - sum y dy) of its row, that is
  /// dx.
  void (*softmax_backward)(std::ptrdiff_t rows, std::ptrdiff_t dim, float scale, const float* y,
                           float* d);
  void (*adamw)(std::ptrdiff_t count, const AdamWRates& rates, const float* gradient, float* m,
                float* v, float* parameters);
};

const RowKernels& baseline_row_kernels();
const RowKernels& avx2_row_kernels();
const RowKernels& avx512_row_kernels();

/// The best set of this machine.
const RowKernels& row_kernels();

}  // namespace headway::training::detail
