#pragma once

#include <cstdint>
#include <vector>

#include "headway/core/types.hpp"

namespace headway::numerics {

/// A tall matrix A for products that are bound by memory, held in half the bytes of doubles: each
/// entry is a 32-bit integer times its column's unit, unit = max |column| / (2^31 - 1). Products
/// are summed in double, so A is the only thing rounded: both products belong to the same matrix A
/// + dA with |dA_ij| <= unit_j / 2. Immutable once filled; may be shared by threads.
class FixedPointColumns {
 public:
  /// Rows are cut into blocks of so many; a block holds its piece of every column, one after
  /// another. Both products then read the memory from end to end, with their vector's block in
  /// registers.
  static constexpr Index kBlockRows = 128;

  FixedPointColumns() = default;
  FixedPointColumns(Index rows, Index columns);

  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index columns() const { return static_cast<Index>(units_.size()); }
  [[nodiscard]] double bytes() const { return 4.0 * static_cast<double>(data_.size()); }
  /// Largest |dA_ij| of column j: half its unit.
  [[nodiscard]] double rounding(Index column) const { return 0.5 * units_[column]; }

  /// Rounds `values` (length rows, finite) to column j.
  void set_column(Index column, const VectorXd& values);
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
