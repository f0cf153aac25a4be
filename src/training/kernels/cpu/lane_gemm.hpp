#pragma once

#include "training/kernels/cpu/lane_vector.hpp"

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

/// The part of a stack from (row, column) of matrix t on.
template <typename Element>
HEADWAY_INLINE Stack<Element> part(Stack<Element> stack, Index row, Index column, Index t = 0) {
  stack.data += t * stack.next + row * stack.row_step + column * stack.column_step;
  return stack;
}

// c (+)= a b for the first R x C block of the first matrix.
template <int R, int C, typename Right>
HEADWAY_INLINE void gemm_block(Index inner, Stack<const Vec> a, Stack<const Right> b, Stack<Vec> c,
                               bool add) {
  Vec sum[R][C] = {};
  if (add) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j) sum[i][j] = *part(c, i, j).data;
    }
  }
  for (Index k = 0; k < inner; ++k) {
    Vec right[C];
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) right[j] = as_vector(*part(b, 0, j).data);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const Vec left = *part(a, i, 0).data;
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j) sum[i][j] += left * right[j];
    }
    a = part(a, 0, 1);
    b = part(b, 1, 0);
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) *part(c, i, j).data = sum[i][j];
  }
}

// The first R rows of the first matrix.
template <int R, typename Right>
HEADWAY_INLINE void gemm_rows(const GemmSize& size, const Stack<const Vec>& a,
                              const Stack<const Right>& b, const Stack<Vec>& c, bool add) {
  for (Index j = 0; j < size.columns;) {
    const Index width = next_block(size.columns - j, kBlockColumns);
    const Stack<const Right> right = part(b, 0, j);
    const Stack<Vec> out = part(c, 0, j);
    if (width == 4) gemm_block<R, 4>(size.inner, a, right, out, add);
    if (width == 3) gemm_block<R, 3>(size.inner, a, right, out, add);
    if (width == 2) gemm_block<R, 2>(size.inner, a, right, out, add);
    if (width == 1) gemm_block<R, 1>(size.inner, a, right, out, add);
    j += width;
  }
}

template <typename Right>
HEADWAY_INLINE void gemm_stack(const GemmSize& size, const Stack<const Vec>& a,
                               const Stack<const Right>& b, const Stack<Vec>& c, bool add) {
  for (Index t = 0; t < size.count; ++t) {
    const Stack<const Right> right = part(b, 0, 0, t);
    for (Index i = 0; i < size.rows;) {
      const Index height = next_block(size.rows - i, kBlockRows);
      const Stack<const Vec> left = part(a, i, 0, t);
      const Stack<Vec> out = part(c, i, 0, t);
      if constexpr (kBlockRows == 4) {
        if (height == 4) gemm_rows<4>(size, left, right, out, add);
        if (height == 3) gemm_rows<3>(size, left, right, out, add);
      }
      if (height == 2) gemm_rows<2>(size, left, right, out, add);
      if (height == 1) gemm_rows<1>(size, left, right, out, add);
      i += height;
    }
  }
}

// Sizes that are multiples of the block's.
template <typename Right>
HEADWAY_INLINE void gemm_whole_blocks(const GemmSize& size, const Stack<const Vec>& a,
                                      const Stack<const Right>& b, const Stack<Vec>& c, bool add) {
  for (Index t = 0; t < size.count; ++t) {
    for (Index i = 0; i < size.rows; i += kBlockRows) {
      for (Index j = 0; j < size.columns; j += kBlockColumns) {
        gemm_block<kBlockRows, kBlockColumns>(size.inner, part(a, i, 0, t), part(b, 0, j, t),
                                              part(c, i, j, t), add);
      }
    }
  }
}

/// c[t](m, n) = sum_k a[t](m, k) b[t](k, n), lane by lane, or that added to it, for t in
/// [0, count). `Right` is Vec, or float for factors that all lanes share. The one loop under all
/// contractions of the attention kernels: rows, columns and inner are small, and each of the
/// heads, queries, keys and dims is one of the four indices. Addresses are a good part of the work
/// of such small products: whole blocks, and steps of 1 from column to column, have paths of their
/// own.
template <typename Right>
__attribute__((noinline)) void lane_gemm(const GemmSize& size, const Stack<const Vec>& a,
                                         Stack<const Right> b, Stack<Vec> c, bool add) {
  const bool whole = size.rows % kBlockRows == 0 && size.columns % kBlockColumns == 0;
  if (!whole || c.column_step != 1) return gemm_stack(size, a, b, c, add);
  c.column_step = 1;
  if (b.column_step == 1) {
    b.column_step = 1;
    add ? gemm_whole_blocks(size, a, b, c, true) : gemm_whole_blocks(size, a, b, c, false);
  } else {
    add ? gemm_whole_blocks(size, a, b, c, true) : gemm_whole_blocks(size, a, b, c, false);
  }
}

}  // namespace headway::training::HEADWAY_KERNELS
