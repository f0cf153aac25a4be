#pragma once

#include <optional>

#include "headway/core/rng.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/path_kernels.hpp"
#include "headway/theory/orthogonal_ridge.hpp"

namespace headway::posterior {

/// The energy as a function of the path features X and of a factor F of U_1 = F F^T,
///   E = logdet(K + T) + y^T (K + T)^{-1} y,   K = Y Y^T,
///   Y[(c, mu), (k, n)] = sum_pi F[(pi, c), k] X_pi[mu, n],
/// No kernels between paths are made, because they would serve for one X only. Where Y has fewer
/// columns D than rows P C, T + Y^T Y of D x D is used instead. That loses digits as |y|^2 / T
/// grows, and is not done below kSmallestFeatureTemperature. Where rounding of either matrix shows
/// beside T, Y is rotated in their place (theory::OrthogonalRidge).
class FeatureEnergy {
 public:
  static constexpr double kSmallestFeatureTemperature = 1e-6;

  /// Nothing when K + T is not positive definite to working precision. `features`: P x (p N_0), as
  /// theory::PathKernels has them; `labels`: P x C; `factor`: C p x r, the output fastest. Cost:
  /// 2 P C p N_0 r, and the smaller of P C and N_0 r to the third power.
  static std::optional<FeatureEnergy> evaluate(const MatrixXd& features, const MatrixXd& labels,
                                               const MatrixXd& factor, double temperature);

  [[nodiscard]] double value() const { return log_determinant_ + quadratic_; }
  /// dE/dF and dE/dX. With M = (K + T)^{-1} - alpha alpha^T: dE/dY = 2 M Y.
  void gradient(const MatrixXd& features, const MatrixXd& factor, MatrixXd& over_factor,
                MatrixXd& over_features) const;
  /// E[w w^T | y] for f = Y w + noise with standard normal w: D x D. Cost: 2 P C D^2, and D^3.
  [[nodiscard]] MatrixXd weight_moments() const;
  /// A draw from the posterior of these w, D numbers. At least one example. Cost: 2 D^2, or D
  /// random numbers and 4 P C D.
  [[nodiscard]] VectorXd draw_weights(Rng& rng) const;
  /// Mean and variance on other examples (eqs. 16 and 17).
  [[nodiscard]] theory::Prediction predict(const MatrixXd& features, const MatrixXd& factor) const;

 private:
  Index examples_ = 0, outputs_ = 1;
  double temperature_ = 0.0;
  bool by_features_ = false;
  MatrixXd y_;                                      // Y, (P C) x D
  VectorXd alpha_;                                  // (K + T)^{-1} y
  numerics::SpdFactor factor_;                      // of K + T, or of T + Y^T Y
  std::optional<theory::OrthogonalRidge> rotated_;  // in its place, where K would lose digits
  double log_determinant_ = 0.0, quadratic_ = 0.0;
};

/// That many standard normal numbers.
VectorXd standard_normals(Rng& rng, Index count);

/// f of a network with mixed features Y and weights w: Y w, P x C.
MatrixXd network_output(const MatrixXd& features, const MatrixXd& factor, Index outputs,
                        const VectorXd& weights);

}  // namespace headway::posterior
