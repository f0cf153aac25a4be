#pragma once

#include "training/kernels/cuda/device.hpp"

// Products of small matrices, many at a time, by all threads of a block. Operands lie anywhere,
// with any strides; where the sums go the caller says, so that what follows a product (a
// nonlinearity, a weight, an addition) needs no memory between.
namespace headway::training::HEADWAY_GPU {

/// How two numbers are multiplied; sums are always float.
enum class Arithmetic {
  kFloat32,  ///< fused multiply-adds
  kTf32,     ///< tensor cores, operands rounded to 11 bits
  kBf16,     ///< tensor cores, operands rounded to 8 bits
};

/// Element (batch, i, j) of an operand is data[batch * batch_step + i * row_step + j *
/// column_step].
template <typename Pointer>
struct Operand {
  Pointer data;
  int batch_step, row_step, column_step;
};

struct ProductSize {
  int batches, rows, columns, inner;
};

/// sum over inner of a(row, inner) b(inner, column), a tile of 4 x 4 sums a thread. Rows of a tile
/// lie a number of tiles apart, so that neighbouring threads read neighbouring elements; beyond the
/// edge the last row is read again and its sum dropped.
template <typename A, typename B, typename Store>
HEADWAY_DEVICE void multiply_add(Block& block, const ProductSize& n, const Operand<A>& a,
                                 const Operand<B>& b, const Store& store) {
  constexpr int kSide = 4;
  const int row_tiles = ceiling(n.rows, kSide);
  const int column_tiles = ceiling(n.columns, kSide);
  for_each(block, n.batches * row_tiles * column_tiles, [&](int tile) {
    const int first_column = tile % column_tiles;
    const int first_row = tile / column_tiles % row_tiles;
    const int batch = tile / column_tiles / row_tiles;
    int row_at[kSide];
    int column_at[kSide];
    HEADWAY_UNROLL
    for (int i = 0; i < kSide; ++i) {
      const int row = first_row + i * row_tiles;
      const int column = first_column + i * column_tiles;
      row_at[i] = batch * a.batch_step + (row < n.rows ? row : n.rows - 1) * a.row_step;
      column_at[i] =
          batch * b.batch_step + (column < n.columns ? column : n.columns - 1) * b.column_step;
    }
    float sum[kSide][kSide] = {};
    for (int k = 0; k < n.inner; ++k) {
      float x[kSide];
      float y[kSide];
      HEADWAY_UNROLL
      for (int i = 0; i < kSide; ++i) {
        x[i] = get(a.data, row_at[i] + k * a.column_step);
        y[i] = get(b.data, column_at[i] + k * b.row_step);
      }
      HEADWAY_UNROLL
      for (int i = 0; i < kSide; ++i) {
        HEADWAY_UNROLL
        for (int j = 0; j < kSide; ++j) sum[i][j] = fused(x[i], y[j], sum[i][j]);
      }
    }
    HEADWAY_UNROLL
    for (int i = 0; i < kSide; ++i) {
      HEADWAY_UNROLL
      for (int j = 0; j < kSide; ++j) {
        const int row = first_row + i * row_tiles;
        const int column = first_column + j * column_tiles;
        if (row < n.rows && column < n.columns) store(batch, row, column, sum[i][j]);
      }
    }
  });
}

// --- tensor cores -----------------------------------------------------------------------------

/// The operand's element, 0 beyond its edge.
template <typename Pointer>
HEADWAY_DEVICE float element_or_zero(const Operand<Pointer>& x, int batch, int row, int rows,
                                     int column, int columns) {
  if (row >= rows || column >= columns) return 0.0F;
  return get(x.data, batch * x.batch_step + row * x.row_step + column * x.column_step);
}

HEADWAY_DEVICE std::uint32_t bf16_pair(float low, float high) {
  return to_bf16(low).bits | static_cast<std::uint32_t>(to_bf16(high).bits) << 16U;
}

/// Lane 4 g + t's part of a tile of `a` [16, kStep] and of `b` [kStep, 8] (PTX, "Matrix Fragments
/// for mma.m16n8k8" and "m16n8k16").
template <Arithmetic kind>
struct Fragments;

template <>
struct Fragments<Arithmetic::kTf32> {
  static constexpr int kStep = 8;

  template <typename A>
  // NOLINTNEXTLINE(readability-function-size): a place among registers
  static HEADWAY_DEVICE void load_a(const Operand<A>& a, const ProductSize& n, int batch, int row,
                                    int k, int lane, Words4& out) {
    HEADWAY_UNROLL
    for (int i = 0; i < 4; ++i) {
      out.word[i] = bits_of(to_tf32(element_or_zero(a, batch, row + lane / 4 + 8 * (i % 2), n.rows,
                                                    k + lane % 4 + 4 * (i / 2), n.inner)));
    }
  }
  template <typename B>
  // NOLINTNEXTLINE(readability-function-size): a place among registers
  static HEADWAY_DEVICE void load_b(const Operand<B>& b, const ProductSize& n, int batch, int k,
                                    int column, int lane, Words2& out) {
    HEADWAY_UNROLL
    for (int i = 0; i < 2; ++i) {
      out.word[i] = bits_of(to_tf32(
          element_or_zero(b, batch, k + lane % 4 + 4 * i, n.inner, column + lane / 4, n.columns)));
    }
  }
  static HEADWAY_DEVICE void multiply(const Warp& warp, Lanes<Floats4>& c, const Lanes<Words4>& a,
                                      const Lanes<Words2>& b) {
    multiply_tf32(warp, c, a, b);
  }
};

template <>
struct Fragments<Arithmetic::kBf16> {
  static constexpr int kStep = 16;

  template <typename A>
  // NOLINTNEXTLINE(readability-function-size): a place among registers
  static HEADWAY_DEVICE void load_a(const Operand<A>& a, const ProductSize& n, int batch, int row,
                                    int k, int lane, Words4& out) {
    HEADWAY_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int at_row = row + lane / 4 + 8 * (i % 2);
      const int at = k + 2 * (lane % 4) + 8 * (i / 2);
      out.word[i] = bf16_pair(element_or_zero(a, batch, at_row, n.rows, at, n.inner),
                              element_or_zero(a, batch, at_row, n.rows, at + 1, n.inner));
    }
  }
  template <typename B>
  // NOLINTNEXTLINE(readability-function-size): a place among registers
  static HEADWAY_DEVICE void load_b(const Operand<B>& b, const ProductSize& n, int batch, int k,
                                    int column, int lane, Words2& out) {
    HEADWAY_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int at = k + 2 * (lane % 4) + 8 * i;
      const int at_column = column + lane / 4;
      out.word[i] = bf16_pair(element_or_zero(b, batch, at, n.inner, at_column, n.columns),
                              element_or_zero(b, batch, at + 1, n.inner, at_column, n.columns));
    }
  }
  static HEADWAY_DEVICE void multiply(const Warp& warp, Lanes<Floats4>& c, const Lanes<Words4>& a,
                                      const Lanes<Words2>& b) {
    multiply_bf16(warp, c, a, b);
  }
};

/// The same sums on tensor cores: a warp makes tiles of 32 x 16, of instructions of 16 x 8, those
/// beyond the edge left out.
template <Arithmetic kind>
struct WarpTile {
  using Parts = Fragments<kind>;
  static constexpr int kRows = 2;
  static constexpr int kColumns = 2;

  int batch, row, column;  // where it begins
  Lanes<Floats4> sum[kRows][kColumns] = {};

  template <typename A, typename B>
  HEADWAY_DEVICE void accumulate(const Warp& warp, const ProductSize& n, const Operand<A>& a,
                                 const Operand<B>& b) {
    for (int k = 0; k < n.inner; k += Parts::kStep) {
      Lanes<Words4> x[kRows];
      HEADWAY_UNROLL
      for (int i = 0; i < kRows; ++i) {
        if (row + 16 * i >= n.rows) continue;
        warp.lanes(
            [&](int lane) { Parts::load_a(a, n, batch, row + 16 * i, k, lane, x[i][lane]); });
      }
      HEADWAY_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        if (column + 8 * j >= n.columns) continue;
        Lanes<Words2> y;
        warp.lanes([&](int lane) { Parts::load_b(b, n, batch, k, column + 8 * j, lane, y[lane]); });
        HEADWAY_UNROLL
        for (int i = 0; i < kRows; ++i) {
          if (row + 16 * i < n.rows) Parts::multiply(warp, sum[i][j], x[i], y);
        }
      }
    }
  }

  template <typename Store>
  HEADWAY_DEVICE void store(const Warp& warp, const ProductSize& n, const Store& store) const {
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int i = 0; i < kRows * kColumns * 4; ++i) {
        const int at_row = row + 16 * (i / (4 * kColumns)) + lane / 4 + 8 * (i / 2 % 2);
        const int at = column + 8 * (i / 4 % kColumns) + 2 * (lane % 4) + i % 2;
        if (at_row < n.rows && at < n.columns) {
          store(batch, at_row, at, sum[i / (4 * kColumns)][i / 4 % kColumns][lane].value[i % 4]);
        }
      }
    });
  }
};

template <Arithmetic kind, typename A, typename B, typename Store>
HEADWAY_DEVICE void multiply_on_tensor_cores(Block& block, const ProductSize& n,
                                             const Operand<A>& a, const Operand<B>& b,
                                             const Store& store) {
  constexpr int kRows = 16 * WarpTile<kind>::kRows;
  constexpr int kColumns = 8 * WarpTile<kind>::kColumns;
  const int row_tiles = ceiling(n.rows, kRows);
  const int column_tiles = ceiling(n.columns, kColumns);
  block.warps([&](const Warp& warp) {
    for (int i = warp.index(); i < n.batches * row_tiles * column_tiles; i += block.size() / 32) {
      WarpTile<kind> tile = {i / column_tiles / row_tiles, i / column_tiles % row_tiles * kRows,
                             i % column_tiles * kColumns};
      tile.accumulate(warp, n, a, b);
      tile.store(warp, n, store);
    }
  });
}

/// store(batch, row, column, sum over inner of a(row, inner) b(inner, column)), each once; a
/// barrier after. What `store` writes must be read by no other thread in this phase.
template <Arithmetic kind, typename A, typename B, typename Store>
HEADWAY_DEVICE void product(Block& block, const ProductSize& n, const Operand<A>& a,
                            const Operand<B>& b, const Store& store) {
  if constexpr (kind == Arithmetic::kFloat32) {
    multiply_add(block, n, a, b, store);
  } else {
    multiply_on_tensor_cores<kind>(block, n, a, b, store);
  }
}

}  // namespace headway::training::HEADWAY_GPU
