#pragma once

#include <vector>

#include "headway/numerics/dense.hpp"

namespace headway::numerics {

/// A = X X^T of a positive semidefinite matrix, X of n x rank, by Cholesky's method with complete
/// pivoting (LAPACK dpstrf). It ends where no pivot is above n eps times the largest diagonal
/// entry: what is left out of A is no larger than its own rounding. Only the lower triangle of A is
/// read. Cost n rank^2 flops.
class PivotedCholesky {
 public:
  explicit PivotedCholesky(MatrixXd a);

  [[nodiscard]] Index rank() const { return rank_; }
  /// X, in the order of A's rows.
  [[nodiscard]] const MatrixXd& features() const { return features_; }
  /// Y with Y X^T = B, for rows B of products with A's rows: m x n to m x rank. Cost m rank^2
  /// flops.
  [[nodiscard]] MatrixXd features_of(const MatrixXd& products) const;

 private:
  Index rank_ = 0;
  std::vector<int> pivots_;  // row of A at each place, from 0
  MatrixXd triangle_;        // rank x rank, of the first pivots
  MatrixXd features_;
};

}  // namespace headway::numerics
