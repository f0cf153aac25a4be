#pragma once

#include "training/lane_vector.hpp"

namespace headway::training::HEADWAY_KERNELS {

/// A stack of matrices of vectors: element (row, column) of matrix t is at
/// data + t * next + row * row_step + column * column_step, in elements.
template <typename Element>
struct Stack {
  Element* data;
  Index row_step;
  Index column_step;
  Index next;
};

struct GemmSize {
  Index rows, columns, inner, count;
};

// Accumulators of a block stay in registers: 32 with AVX-512, else 16.
constexpr int kBlockRows = kLanes == 16 ? 4 : 2;
constexpr int kBlockColumns = 4;

// The next block of at most `most` out of `left`: 5, 6 and 7 make two blocks of nearly one size.
HEADWAY_INLINE Index next_block(Index left, Index most) {
  if (left >= 2 * most || left <= most) return left < most ? left : most;
  return (left + 1) / 2;
}

HEADWAY_INLINE Vec as_vector(Vec x) { return x; }
HEADWAY_INLINE Vec as_vector(float x) { return broadcast(x); }

// c (+)= a b for a block of R x C of one matrix.
template <int R, int C, typename Right>
HEADWAY_INLINE void gemm_block(Index inner, const Stack<const Vec>& a, const Vec* pa,
                               const Stack<const Right>& b, const Right* pb, const Stack<Vec>& c,
                               Vec* pc, bool add) {
  Vec sum[R][C] = {};
  if (add) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j) sum[i][j] = pc[i * c.row_step + j * c.column_step];
    }
  }
  for (Index k = 0; k < inner; ++k) {
    Vec right[C];
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) right[j] = as_vector(pb[j * b.column_step]);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const Vec left = pa[i * a.row_step];
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j) sum[i][j] += left * right[j];
    }
    pa += a.column_step;
    pb += b.row_step;
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) pc[i * c.row_step + j * c.column_step] = sum[i][j];
  }
}

template <int R, typename Right>
HEADWAY_INLINE void gemm_rows(const GemmSize& size, const Stack<const Vec>& a, const Vec* pa,
                              const Stack<const Right>& b, const Right* pb, const Stack<Vec>& c,
                              Vec* pc, bool add) {
  for (Index j = 0; j < size.columns;) {
    const Index width = next_block(size.columns - j, kBlockColumns);
    const Right* right = pb + j * b.column_step;
    Vec* out = pc + j * c.column_step;
    if (width == 4) gemm_block<R, 4>(size.inner, a, pa, b, right, c, out, add);
    if (width == 3) gemm_block<R, 3>(size.inner, a, pa, b, right, c, out, add);
    if (width == 2) gemm_block<R, 2>(size.inner, a, pa, b, right, c, out, add);
    if (width == 1) gemm_block<R, 1>(size.inner, a, pa, b, right, c, out, add);
    j += width;
  }
}

/// c[t](m, n) = sum_k a[t](m, k) b[t](k, n), lane by lane, or that added to it, for t in
/// [0, count). `Right` is Vec, or float for factors that all lanes share. The one loop under all
/// contractions of the attention kernels: rows, columns and inner are small, and each of the
/// heads, queries, keys and dims is one of the four indices.
template <typename Right>
__attribute__((noinline)) void lane_gemm(const GemmSize& size, const Stack<const Vec>& a,
                                         const Stack<const Right>& b, const Stack<Vec>& c,
                                         bool add) {
  for (Index t = 0; t < size.count; ++t) {
    const Right* pb = b.data + t * b.next;
    for (Index i = 0; i < size.rows;) {
      const Index height = next_block(size.rows - i, kBlockRows);
      const Vec* pa = a.data + t * a.next + i * a.row_step;
      Vec* pc = c.data + t * c.next + i * c.row_step;
      if constexpr (kBlockRows == 4) {
        if (height == 4) gemm_rows<4>(size, a, pa, b, pb, c, pc, add);
        if (height == 3) gemm_rows<3>(size, a, pa, b, pb, c, pc, add);
      }
      if (height == 2) gemm_rows<2>(size, a, pa, b, pb, c, pc, add);
      if (height == 1) gemm_rows<1>(size, a, pa, b, pb, c, pc, add);
      i += height;
    }
  }
}

}  // namespace headway::training::HEADWAY_KERNELS
