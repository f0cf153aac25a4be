#pragma once

#include <functional>
#include <vector>

#include "headway/types.hpp"

namespace headway {

/// One dimension of a matrix whose blocks are dealt in turn: part `part` of `parts` has blocks
/// part, part + parts, ... (ScaLAPACK's block-cyclic layout, the first block with part 0).
struct BlockCyclic {
  Index size = 0;   ///< entries of all parts
  Index block = 1;  ///< entries of a block; the last may have fewer
  int parts = 1;
  int part = 0;  ///< -1: has none

  /// Entries of this part.
  [[nodiscard]] Index count() const { return count_below(size); }
  /// How many of this part's entries have a number in the whole below `global`. They come first.
  [[nodiscard]] Index count_below(Index global) const;
  /// The number in the whole of the entry with number `local` in this part.
  [[nodiscard]] Index global(Index local) const;
  /// Calls run(first, count, at) for each run of entries of this part that are neighbours in the
  /// whole, too. The `count` entries from `first` in the whole are here from `at` on.
  void for_each_run(const std::function<void(Index first, Index count, Index at)>& run) const;
};

/// The place of a rank among `ranks` in rows and columns, as square as can be: rows <= columns, and
/// up to rows - 1 ranks are left without a place.
struct RankGrid {
  RankGrid() = default;
  RankGrid(int ranks, int rank);

  int rows = 1, columns = 1;
  int row = 0, column = 0;  ///< -1: without a place

  [[nodiscard]] bool has_place() const { return row >= 0; }
};

/// The part of a square matrix that a rank has: the block rows and block columns of its place in
/// the grid.
struct SharedSquare {
  SharedSquare() = default;
  /// Blocks have 64 rows, or fewer if some rank would otherwise have less than a few blocks.
  SharedSquare(Index size, int ranks, int rank);

  RankGrid grid;
  BlockCyclic rows, columns;

  /// `rows` own rows from `row` on, and the first `columns` own columns: those that hold the lower
  /// triangle of these rows.
  struct Strip {
    Index row = 0, rows = 0, columns = 0;
  };
  /// The lower triangle in strips of `about` rows each. Every rank has the same number of strips,
  /// so the last may be empty. Ranks in one row of the grid have the same rows in each strip.
  [[nodiscard]] std::vector<Strip> strips(Index about) const;
};

/// Cholesky factorisation of one symmetric matrix that lies on all ranks. All of them call each
/// function together, with what they have of the matrix.
class SharedCholesky {
 public:
  SharedCholesky() = default;
  SharedCholesky(const SharedCholesky&) = delete;
  SharedCholesky& operator=(const SharedCholesky&) = delete;
  virtual ~SharedCholesky() = default;

  /// A -> L with A = L L^T, lower triangles alone; false, on all ranks, where A is not positive
  /// definite. Cost n^3 / 3 flops of all ranks.
  virtual bool factor(MatrixXd& a) = 0;
  /// b -> A^{-1} b from L: own rows of b, on the ranks of the grid's first column.
  virtual void solve(const MatrixXd& l, VectorXd& b) = 0;
  /// L -> A^{-1}, lower triangles alone. Cost 2 n^3 / 3 flops of all ranks.
  virtual void invert(MatrixXd& l) = 0;
};

}  // namespace headway
