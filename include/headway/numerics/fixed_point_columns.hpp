#pragma once

#include <cstdint>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/types.hpp"

namespace headway::numerics {

/// A tall matrix A for products that are bound by memory, held in half the bytes of doubles. Each
/// entry is a 32-bit integer times its column's unit, unit = max |column| / (2^31 - 1). Products
/// are summed in double. Only A is rounded, so both products belong to the same matrix A + dA.
/// Rounding is up or down at random, without bias: the dA_ij are independent, of mean 0, and each
/// is confined to an interval of length unit_j around 0. Whole multiples of the unit are exact.
/// Sums over the dA_ij therefore obey Hoeffding's inequality (error_scale). Immutable once filled;
/// may be shared by threads.
class FixedPointColumns {
 public:
  /// Rows are cut into blocks of so many; a block holds its piece of every column, one after
  /// another. Both products then read the memory from end to end, with their vector's block in
  /// registers.
  static constexpr Index kBlockRows = 128;

  FixedPointColumns() = default;
  FixedPointColumns(Index rows, Index columns);

  [[nodiscard]] Index columns() const { return static_cast<Index>(units_.size()); }
  /// |unit o x|, with o the product entry by entry. It bounds the error y^T dA x of y^T A x: with
  /// s = error_scale(x) |y|, the error exceeds t in absolute value with a probability of at most
  /// 2 exp(-2 t^2 / s^2). x and y must not depend on the rounding (W. Hoeffding, J. Am. Stat.
  /// Assoc. 58, 13 (1963), theorem 2).
  [[nodiscard]] double error_scale(const VectorXd& x) const {
    return units_.cwiseProduct(x).norm();
  }

  /// Rounds `values` (length rows, finite) to column j; `rng` decides on up or down.
  void set_column(Index column, const VectorXd& values, Rng& rng);
  /// A x. One pass over A.
  [[nodiscard]] VectorXd multiply(const VectorXd& x) const;
  /// A^T y. One pass over A.
  [[nodiscard]] VectorXd multiply_transposed(const VectorXd& y) const;

 private:
  [[nodiscard]] Index blocks() const { return (rows_ + kBlockRows - 1) / kBlockRows; }
  [[nodiscard]] const std::int32_t* block(Index b) const {
    return data_.data() + b * kBlockRows * columns();
  }

  Index rows_ = 0;
  VectorXd units_;
  std::vector<std::int32_t> data_;  // the last block is filled up with zeros
};

}  // namespace headway::numerics
