#pragma once

#include "headway/core/rng.hpp"
#include "headway/sampling/options.hpp"
#include "headway/types.hpp"

namespace headway::sampling {

/// The Euclidean metric of Hamiltonian dynamics: momentum ~ N(0, M), velocity = M^-1 momentum, with
/// M^-1 an estimate of the posterior covariance.
class Metric {
 public:
  /// `inverse` is M^-1: empty (unit), d x 1 (diagonal) or d x d (dense and information, symmetric
  /// positive definite).
  Metric(MetricKind kind, Index dimension);
  void set_inverse(const MatrixXd& inverse);
  [[nodiscard]] const MatrixXd& inverse() const { return inverse_; }

  /// velocity = M^-1 momentum. O(d), dense O(d^2).
  void velocity(const VectorXd& momentum, VectorXd& velocity) const;
  /// momentum ~ N(0, M). O(d), dense O(d^2).
  void draw_momentum(Rng& rng, VectorXd& momentum) const;

 private:
  MetricKind kind_;
  MatrixXd inverse_;
  MatrixXd lower_;  // dense: M^-1 = lower lower^T
  VectorXd root_;   // diagonal: sqrt of M's diagonal
};

}  // namespace headway::sampling
