#pragma once

#include <string>
#include <vector>

#include "headway/core/observer.hpp"
#include "headway/core/option_table_fwd.hpp"
#include "headway/core/rng.hpp"
#include "headway/core/words.hpp"
#include "headway/theory/action.hpp"

namespace headway::theory {

/// How the action is minimised.
enum class Optimizer {
  kAuto,         ///< Newton with the exact Hessian where that is cheaper, else quasi-Newton
  kNewton,       ///< exact Hessian at every step
  kQuasiNewton,  ///< average information plus symmetric rank-one corrections
  kCeres,  ///< BFGS or L-BFGS of Ceres Solver in log-Cholesky coordinates, for comparison and for
           ///< very many paths
};
Words<Optimizer> words_of(Optimizer);

/// How U_2..U_L and U_a are treated.
enum class Elimination {
  kJoint,       ///< unknowns like U_1
  kClosedForm,  ///< replaced by their closed forms given U_1 (a Riccati equation) after every step
};
Words<Elimination> words_of(Elimination);

struct SaddlePointOptions {
  Optimizer optimizer = Optimizer::kAuto;
  Elimination elimination = Elimination::kJoint;
  double gradient_tolerance = 1e-10;  ///< on Action::Evaluation::gradient_norm
  int max_iterations = 200;  ///< Newton needs 4 to 10, quasi-Newton 10 to 40, Ceres hundreds

  // Of the library alone, no keys of a study:
  double max_log_step = 2.0;  ///< largest change of log U along any direction in one step
  /// Newton computes the exact Hessian anew after a step that changed log U by more than this;
  /// after smaller ones the last is kept up by secant updates.
  double hessian_renewal_step = 0.3;

  static const OptionTable<SaddlePointOptions>& table();  ///< the first keys of [solve]
  /// Throws Error{kBadStudy} naming field, value and bound.
  void validate() const;
};

/// Why the iteration ended; a summary starts as "was not called".
struct SaddlePointSummary {
  bool converged = false;
  std::string message = "solve_saddle_point was not called";
  std::string optimizer;  ///< what ran: "newton", "quasi_newton" or "ceres"
  int iterations = 0;
  int evaluations = 0;  ///< of the action and its gradient
  int hessians = 0;     ///< exact ones
  double gradient_norm = 0.0;
  double gradient_rounding =
      0.0;  ///< estimated rounding error of gradient_norm: what double precision allows
  struct Iteration {
    double action = 0.0;  ///< S / max N
    double gradient_norm = 0.0;
    double log_step = 0.0;
  };
  std::vector<Iteration> history;
};

struct SaddlePoint {
  OrderParameters order_parameters;
  Action::Evaluation evaluation;  ///< at order_parameters
  SaddlePointSummary summary;
};

/// Minimises the action over positive-definite (U_1, ..., U_L, U_a) from `start` (eq. 18).
///
/// Newton's method in the geodesic (affine-invariant) coordinates U = F exp(D) F^T (eq. 29), in
/// which the entropy and logdet K are convex; where the Hessian is not positive definite its
/// eigenvalues in those coordinates are replaced by their absolute values; Armijo backtracking.
/// Quasi-Newton replaces the energy's Hessian by the average information (PSD, cost of one
/// evaluation) plus a symmetric rank-one correction learnt from gradients. Not converging is a
/// value. Errors: kBadStudy when the action is not finite at the start.
SaddlePoint solve_saddle_point(const Action& action, const OrderParameters& start,
                               const SaddlePointOptions& options, Observer& observer);

/// A random start: each U_l = F exp(D) F^T about the Gaussian-process one with D symmetric Gaussian
/// of scale `spread`.
OrderParameters perturb_order_parameters(const OrderParameters& u, double spread, Rng& rng);

}  // namespace headway::theory
