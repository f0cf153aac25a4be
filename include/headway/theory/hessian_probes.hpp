#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "headway/observer.hpp"
#include "headway/theory/action_curvature.hpp"

namespace headway::theory {

/// The smallest eigenvalue of the Hessian of S / max N in the independent entries of all U_l and
/// U_a jointly, without the Hessian.
struct SmallestEigenvalue {
  double value = std::numeric_limits<double>::quiet_NaN();  ///< a Rayleigh quotient: from above
  double error = std::numeric_limits<double>::quiet_NaN();  ///< an eigenvalue lies within this
  int products = 0;
};

/// Locally optimal preconditioned conjugate gradients [K01]: three-term Lanczos on
/// products, preconditioned by the entropy, until the error is below `tolerance` times the value or
/// `most_products` are made. NaN when interrupted. Cost: products, one a step.
SmallestEigenvalue smallest_hessian_eigenvalue(const Action& action, const ActionCurvature& at,
                                               double tolerance, int most_products,
                                               Observer& observer);

/// Estimates by random probes z of the Hessian H at a minimum, in geodesic coordinates. H is scaled
/// by the entropy's diagonal c (ActionCurvature::scale), A = c^{-1/2} H c^{-1/2}. Each probe starts
/// a Lanczos process with tridiagonal matrix T_k and basis V_k (stochastic Lanczos quadrature,
/// Ubaru, Chen and Saad 2017), which gives
///   z^T log(A) z ~ |z|^2 e_1^T log(T_k) e_1        and      A^{-1/2} z ~ |z| V_k T_k^{-1/2} e_1.
struct HessianProbes {
  bool positive = false;  ///< no negative curvature was met
  bool interrupted = false;
  int products = 0;
  /// One a probe: estimates of logdet A = logdet H - sum_l n_l log c_l.
  std::vector<double> log_determinants;
  /// One a probe: s = sqrt(2) c^{-1/2} A^{-1/2} z. In expectation s s^T is Sigma = 2 H^{-1} (eq.
  /// 40). entropy_draws are the same for the entropy alone: sqrt(2) c^{-1/2} z.
  std::vector<Tangent> draws;
  std::vector<Tangent> entropy_draws;

  [[nodiscard]] double log_determinant() const;        ///< mean over probes
  [[nodiscard]] double log_determinant_error() const;  ///< its standard error
};

/// Entries of the probes are +-1 from the streams (seed, kHessianProbes, 1), (.., 2), ...: stream 0
/// gives Lanczos iterations their starts. Cost 10 to 30 products a probe.
HessianProbes probe_hessian(const ActionCurvature& at, int probes, std::uint64_t seed,
                            Observer& observer);

}  // namespace headway::theory
