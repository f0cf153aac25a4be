#pragma once

#include <optional>

#include "headway/numerics/dense.hpp"
#include "headway/numerics/orthogonal.hpp"

namespace headway::theory {

/// The mixed features W with K(U) = W W^T, U = F F^T:
///   W[(c, mu), (k, i)] = sum_pi F[(pi, c), k] X_pi[mu, i],
/// of features P x (p N_0) and a factor C p x r, the output fastest: (P C) x (r N_0). Cost
/// 2 P C p N_0 r flops.
MatrixXd mix_outputs(const MatrixXd& features, const MatrixXd& factor, Index outputs);

/// Energy and predictor of K + T I, K = W W^T, by orthogonal transformations of W (eq. 78). K
/// itself is never made, whose rounding eps |K| would hide what is small beside its largest
/// features. With W(:, order) = Q R, rows of R falling in size, and R R^T + T = L L^T, all of W^T A
/// W is H^T H with H = L^{-1} R, A = (K + T)^{-1}.
class OrthogonalRidge {
 public:
  /// `y`: one number a row of W. `rest_rows` more rows have no features, and `rest_square` is the
  /// sum of their squared labels. Nothing where K + T is not positive definite to working
  /// precision. Cost for n rows and m columns: 6 n m min(n, m) flops, about.
  static std::optional<OrthogonalRidge> factor(const MatrixXd& w, const VectorXd& y,
                                               double temperature, Index rest_rows = 0,
                                               double rest_square = 0.0);

  [[nodiscard]] double log_determinant() const { return log_determinant_; }
  [[nodiscard]] double quadratic() const { return quadratic_; }  ///< y^T A y
  [[nodiscard]] double condition_estimate() const { return factor_.condition_estimate(); }
  /// Estimated rounding of the log determinant and of the quadratic form, in units of eps: that of
  /// W, each column by its size, times the derivatives 2 A W and 2 alpha (W^T alpha)^T.
  [[nodiscard]] double pivot_losses() const { return pivot_losses_; }
  [[nodiscard]] double dual_losses() const { return dual_losses_; }

  /// H, with the columns of W in their own order, and L^{-1} Q^T y.
  [[nodiscard]] const MatrixXd& half() const { return half_; }
  [[nodiscard]] const VectorXd& half_labels() const { return half_labels_; }
  /// W^T alpha, alpha = A y.
  [[nodiscard]] const VectorXd& told() const { return told_; }
  /// alpha and A W.
  [[nodiscard]] VectorXd dual() const;
  [[nodiscard]] MatrixXd solved() const;
  /// M^{-1} b with K + T = M M^T: as many rows as W has.
  [[nodiscard]] MatrixXd whiten(const MatrixXd& b) const;
  /// Variance of new examples, rows of W as those of the training examples. No difference of large
  /// numbers is taken. Cost 4 m^2 min(n, m) flops, once for all.
  [[nodiscard]] VectorXd variance(const MatrixXd& w) const;

 private:
  void estimate_rounding(const VectorXd& column_norms);
  [[nodiscard]] MatrixXd in_pivot_order(const MatrixXd& columns) const;

  double temperature_ = 0.0;
  numerics::OrthogonalFactor rotation_;
  numerics::SpdFactor factor_;  // L
  MatrixXd half_;
  VectorXd rotated_labels_, half_labels_, told_;
  double log_determinant_ = 0.0, quadratic_ = 0.0, label_norm_ = 0.0;
  double pivot_losses_ = 0.0, dual_losses_ = 0.0;
};

}  // namespace headway::theory
