#pragma once

#include <type_traits>
#include <utility>

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

/// Where the eight lanes' lines, or the four lanes' places along the inner dimension, of one word
/// of a fragment begin, which of them is a lane's, and how many the operand has. All lanes of a
/// warp have the same `first` and `count`: only at an edge does each lane ask for itself.
struct Along {
  int first, mine, count;
  [[nodiscard]] HEADWAY_DEVICE bool none() const { return first >= count; }
  [[nodiscard]] HEADWAY_DEVICE bool all(int width) const { return first + width <= count; }
  [[nodiscard]] HEADWAY_DEVICE bool inside(int more = 0) const {
    return first + mine + more < count;
  }
};

/// What get_bits of a pointer gives.
template <typename Pointer>
using NumberOf = std::remove_cvref_t<decltype(get_bits(std::declval<Pointer>(), 0))>;

/// Whether the elements of an operand of bf16 can be read two at a time along the inner dimension.
template <typename Pointer>
HEADWAY_DEVICE bool reads_pairs(const Operand<Pointer>& x, int inner_step, int line_step) {
  if constexpr (sizeof(NumberOf<Pointer>) == sizeof(Bf16)) {
    return inner_step == 1 && line_step % 2 == 0 && x.batch_step % 2 == 0 && may_pair(x.data);
  }
  return false;
}

/// Lane 4 g + t's part of a tile of `a` [16, kStep] and of `b` [kStep, 8] (PTX, "Matrix Fragments
/// for mma.m16n8k8" and "m16n8k16").
template <Arithmetic kind>
struct Fragments;

template <>
struct Fragments<Arithmetic::kTf32> {
  static constexpr int kStep = 8;

  /// The element at place `at`, or 0.
  template <typename Pointer>
  static HEADWAY_DEVICE std::uint32_t word(Pointer data, int at, const Along& lines,
                                           const Along& places) {
    if (lines.none() || places.none()) return 0;
    if (!lines.all(8) || !places.all(4)) {
      if (!lines.inside() || !places.inside()) return 0;
    }
    return bits_of(to_tf32(get(data, at)));
  }

  template <typename A>
  // NOLINTNEXTLINE(readability-function-size): a place among registers
  static HEADWAY_DEVICE void load_a(const Operand<A>& a, const ProductSize& n, int batch, int row,
                                    int k, int lane, Words4& out) {
    const int start =
        batch * a.batch_step + (row + lane / 4) * a.row_step + (k + lane % 4) * a.column_step;
    HEADWAY_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int lines = 8 * (i % 2);
      const int places = 4 * (i / 2);
      out.word[i] = word(a.data, start + lines * a.row_step + places * a.column_step,
                         {row + lines, lane / 4, n.rows}, {k + places, lane % 4, n.inner});
    }
  }
  template <typename B>
  // NOLINTNEXTLINE(readability-function-size): a place among registers
  static HEADWAY_DEVICE void load_b(const Operand<B>& b, const ProductSize& n, int batch, int k,
                                    int column, int lane, Words2& out) {
    const int start =
        batch * b.batch_step + (column + lane / 4) * b.column_step + (k + lane % 4) * b.row_step;
    HEADWAY_UNROLL
    for (int i = 0; i < 2; ++i) {
      out.word[i] = word(b.data, start + 4 * i * b.row_step, {column, lane / 4, n.columns},
                         {k + 4 * i, lane % 4, n.inner});
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

  /// How an operand's elements are read along the inner dimension.
  struct Reading {
    int step;
    bool paired;
  };

  /// The element at place `at` and the next one along the inner dimension, 0 beyond the edge.
  template <typename Pointer>
  static HEADWAY_DEVICE std::uint32_t word(Pointer data, int at, const Reading& reading,
                                           const Along& lines, const Along& places) {
    if (lines.none() || places.none()) return 0;
    if (!lines.all(8) || !places.all(8)) {
      if (!lines.inside() || !places.inside()) return 0;
      if (!places.inside(1)) return bf16_pair(get(data, at), 0.0F);
    }
    if constexpr (sizeof(NumberOf<Pointer>) == sizeof(Bf16)) {
      if (reading.paired) return get_pair(data, at);
      return get_bits(data, at).bits |
             static_cast<std::uint32_t>(get_bits(data, at + reading.step).bits) << 16U;
    } else {
      return bf16_pair(get(data, at), get(data, at + reading.step));
    }
  }

  template <typename A>
  // NOLINTNEXTLINE(readability-function-size): a place among registers
  static HEADWAY_DEVICE void load_a(const Operand<A>& a, const ProductSize& n, int batch, int row,
                                    int k, int lane, Words4& out) {
    const Reading reading = {a.column_step, reads_pairs(a, a.column_step, a.row_step)};
    const int start =
        batch * a.batch_step + (row + lane / 4) * a.row_step + (k + 2 * (lane % 4)) * a.column_step;
    HEADWAY_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int lines = 8 * (i % 2);
      const int places = 8 * (i / 2);
      out.word[i] = word(a.data, start + lines * a.row_step + places * a.column_step, reading,
                         {row + lines, lane / 4, n.rows}, {k + places, 2 * (lane % 4), n.inner});
    }
  }
  template <typename B>
  // NOLINTNEXTLINE(readability-function-size): a place among registers
  static HEADWAY_DEVICE void load_b(const Operand<B>& b, const ProductSize& n, int batch, int k,
                                    int column, int lane, Words2& out) {
    const Reading reading = {b.row_step, reads_pairs(b, b.row_step, b.column_step)};
    const int start = batch * b.batch_step + (column + lane / 4) * b.column_step +
                      (k + 2 * (lane % 4)) * b.row_step;
    HEADWAY_UNROLL
    for (int i = 0; i < 2; ++i) {
      out.word[i] = word(b.data, start + 8 * i * b.row_step, reading, {column, lane / 4, n.columns},
                         {k + 8 * i, 2 * (lane % 4), n.inner});
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
