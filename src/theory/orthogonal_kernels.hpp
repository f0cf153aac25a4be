#pragma once

#include <memory>

#include "headway/path_kernels.hpp"
#include "headway/theory/orthogonal_ridge.hpp"

/// Private to theory: the energy at U where rounding of K beside T would show (eq. 78).
namespace headway::theory {

/// Estimated rounding of an energy over P C + |energy|: above it an evaluation is made again by
/// orthogonal transformations.
inline constexpr double kToleratedRounding = 1e-8;

/// What an energy is known to, in units of eps: the sum over pivots of what their squares lose, and
/// what the quadratic form loses. `terms`: P C.
struct Losses {
  double pivots, dual, terms, quadratic;
};
/// EnergyState::relative_rounding: of the log determinant over P C, and of the quadratic form over
/// P C plus itself.
double rounding_of(const Losses& losses);

/// The same features and labels as some PathKernels, with rotated examples: equal examples become
/// one, and there are at most D + 1 rows. What labels have beyond them is kept as a sum.
class OrthogonalKernels {
 public:
  OrthogonalKernels(const MatrixXd& features, const MatrixXd& labels, Index paths);

  /// Whether an evaluation takes less than about a minute and 2 GiB.
  static bool affordable(const KernelSizes& sizes);

  /// As PathKernels::evaluate and predictive_mean of `owner`, the kernels that these belong to.
  [[nodiscard]] std::unique_ptr<EnergyState> evaluate(std::shared_ptr<const PathKernels> owner,
                                                      const MatrixXd& u, double temperature) const;
  [[nodiscard]] MatrixXd predictive_mean(const MatrixXd& u, double temperature,
                                         const MatrixXd& test_features) const;

 private:
  /// U = F F^T, with F^{-1} where U can be divided by.
  struct Frame {
    MatrixXd matrix, inverse;
  };
  /// Equal examples x as one, sqrt(m) x with the sum of their labels over sqrt(m): a rotation that
  /// is known exactly. Differences of their labels have no features.
  void merge_equal_examples();
  /// Paths with large features come first in the factorisation, so that no column of W has a large
  /// part that cancels with other columns.
  [[nodiscard]] Frame frame_of(const MatrixXd& u) const;
  [[nodiscard]] std::optional<OrthogonalRidge> ridge(const Frame& frame, double temperature) const;
  /// X kron e_c: the columns of eq. 22, (path, output) blocks.
  [[nodiscard]] MatrixXd lifted_features() const;

  Index paths_;
  MatrixXd features_, labels_;
  Index rest_rows_ = 0;       // of K, without features
  double rest_square_ = 0.0;  // sum of their squared labels
  VectorXd sizes_;            // |X_pi|
};

}  // namespace headway::theory
