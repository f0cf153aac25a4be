#pragma once

#include "headway/model/value_network.hpp"

/// The kernel of a value network with normal hidden weights of covariance S, and its derivative
/// (eq. 80):
///   C_rr'(x, x'; S) = (1/R) sum_mm' A_rm(x) A_r'm'(x') J(psi_m S psi_m'^T, psi_m S psi_m^T, psi_m'
///   S psi_m'^T)
/// Rows of kernels are r P + example.
namespace headway::model {

/// Sites whose directions are multiplied with a factor of S, S = F F^T. So kernels of one set with
/// itself are positive semidefinite up to rounding.
class WhitenedSites {
 public:
  /// Must not outlive the sites. Cost: sites d^2 multiply-adds.
  WhitenedSites(const ValueSites& sites, const MatrixXd& factor);

  [[nodiscard]] const ValueSites& sites() const { return sites_; }
  [[nodiscard]] const MatrixXd& directions() const { return directions_; }  ///< psi F, sites x d
  [[nodiscard]] const VectorXd& variances() const { return variances_; }    ///< psi S psi^T

 private:
  const ValueSites& sites_;
  MatrixXd directions_;
  VectorXd variances_;
};

/// C between two sets of examples: R P_a x R P_b. Made in tiles of pairs of examples, so that
/// memory beside the result does not grow with the sites. Results do not depend on the number of
/// threads. Cost: sites_a sites_b (d + R) multiply-adds, and as many J.
MatrixXd value_kernel(const WhitenedSites& a, const WhitenedSites& b, int threads);
/// The same of a set with itself, both triangles: half of the cost.
MatrixXd value_kernel(const WhitenedSites& a, int threads);

/// C_rr'(x, x; S) of every example alone: P matrices of R x R, one below the other.
MatrixXd value_kernel_diagonal(const WhitenedSites& a);

/// d/dS of <B, C(S)> for a symmetric B, of the size of C: d x d, symmetric, a matrix derivative.
/// Cost about twice that of the kernel.
MatrixXd value_kernel_slope(const WhitenedSites& a, const MatrixXd& b, int threads);

}  // namespace headway::model
