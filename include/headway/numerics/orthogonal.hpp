#pragma once

#include <vector>

#include "headway/types.hpp"

namespace headway::numerics {

/// A(:, order) = Q R by Householder reflections (LAPACK's dgeqp3 and dgeqrf). Column j of R has an
/// error of eps |A_j|, whatever the other columns are: columns of very different size keep their
/// digits, which A^T A or A A^T would lose.
class OrthogonalFactor {
 public:
  /// With `pivot` the rows of R fall in size, and small rows of R tell what a column adds to those
  /// before it. Else order is 0, 1, 2, ... Cost 2 m n min(m, n) flops, about.
  static OrthogonalFactor factor(MatrixXd a, bool pivot);

  [[nodiscard]] Index rows() const { return reflections_.rows(); }
  /// Upper trapezoidal, min(m, n) x n.
  [[nodiscard]] const MatrixXd& r() const { return r_; }
  [[nodiscard]] const std::vector<Index>& order() const { return order_; }
  /// Q^T b and Q b, m rows.
  [[nodiscard]] MatrixXd rotate(MatrixXd b) const;
  [[nodiscard]] MatrixXd rotate_back(MatrixXd b) const;

 private:
  [[nodiscard]] MatrixXd apply(const char* transpose, MatrixXd b) const;

  MatrixXd reflections_;
  VectorXd scales_;
  MatrixXd r_;
  std::vector<Index> order_;
};

}  // namespace headway::numerics
