#pragma once

#include <functional>
#include <optional>

#include "headway/action.hpp"
#include "headway/core/option_table_fwd.hpp"
#include "headway/core/rng.hpp"
#include "headway/core/words.hpp"
#include "headway/observer.hpp"
#include "headway/solution.hpp"

namespace headway::theory {

/// How the action is minimised.
enum class Optimizer {
  kAuto,         ///< whichever of Newton, quasi-Newton and Newton-CG costs least
  kNewton,       ///< exact Hessian at every step
  kQuasiNewton,  ///< average information plus symmetric rank-one corrections
  kNewtonCg,     ///< Newton directions by conjugate gradients, no Hessian: for many paths
  kCeres,        ///< BFGS or L-BFGS of Ceres Solver in log-Cholesky coordinates, for comparison
};
Words<Optimizer> words_of(Optimizer);

/// How U_2..U_L and U_a are treated.
enum class Elimination {
  kJoint,       ///< unknowns like U_1
  kClosedForm,  ///< replaced by their closed forms given U_1 (a Riccati equation) after every step
};
Words<Elimination> words_of(Elimination);

/// Unknowns up to which a dense Hessian is made (288 MB).
inline constexpr Index kLargestDenseProblem = 6000;

/// Flops of one product of the action's Hessian with a direction, where it only chooses a
/// direction. In single precision, if the kernels have it; that counts as half.
double steering_flops(const Action& action);

/// How the saddle point is looked for.
struct SaddlePointOptions {
  Optimizer optimizer = Optimizer::kAuto;
  Elimination elimination = Elimination::kJoint;
  double gradient_tolerance = 1e-10;  ///< on Action::Evaluation::scaled_gradient_norm
  int max_iterations = 200;  ///< Newton needs 4 to 15, quasi-Newton 10 to 40, Ceres hundreds

  // Of the library alone, no keys of a study:
  double max_log_step = 2.0;  ///< largest change of log U along any direction in one step
  /// Newton's method computes the exact Hessian after its first step in log U. It computes it again
  /// after a step shorter than this share of the step after which it last did. In between, secant
  /// updates keep it up.
  double hessian_renewal_share = 0.1;

  static const OptionTable<SaddlePointOptions>& table();  ///< the first keys of [solve]
  /// Throws Error{kBadStudy} naming field, value and bound.
  void validate() const;
};

/// Where the solver stopped: U there, the action at it, and why it stopped.
struct SaddlePoint {
  OrderParameters order_parameters;
  Action::Evaluation evaluation;  ///< at order_parameters
  SaddlePointSummary summary;
};

/// How a long solution is checkpointed. Only Newton-CG calls it; the other methods are short.
struct SaddlePointHooks {
  /// Called after a step when the last call is `seconds` ago, and when the observer interrupts.
  std::function<void(const SaddlePointState&)> save;
  double seconds = 60.0;
  std::optional<SaddlePointState> from;  ///< state to continue from, in place of the start
};

/// Minimises the action over positive-definite (U_1, ..., U_L, U_a) from `start` (eq. 18).
///
/// Newton's method runs in the geodesic (affine-invariant) coordinates U = F exp(D) F^T (eq. 29),
/// in which the entropy and logdet K are convex, with Armijo backtracking. If the Hessian is not
/// positive definite, its eigenvalues in those coordinates are replaced by their absolute values.
/// Quasi-Newton replaces the energy's Hessian by the average information (positive semidefinite, at
/// the cost of one evaluation) plus a symmetric rank-one correction learnt from gradients. Not
/// converging is a value. Errors: kBadStudy when the action is not finite at the start.
SaddlePoint solve_saddle_point(const Action& action, const OrderParameters& start,
                               const SaddlePointOptions& options,
                               Observer& observer = no_observer(),
                               const SaddlePointHooks& hooks = {});

/// Whether the kernel at the saddle point, if there is one, changes the energy by less than the
/// rounding of double precision: sum_a U_aa |X_a|^2 / T <= eps P C. Then K + T I is T I to its last
/// digit, the point is that of the prior, and second derivatives are noise. solve_saddle_point()
/// calls such a point not converged.
bool is_kernel_below_rounding(const Action& action, const SaddlePoint& saddle);

/// A random start: each U_l = F exp(D) F^T about the Gaussian-process one with D symmetric Gaussian
/// of scale `spread`.
OrderParameters perturb_order_parameters(const OrderParameters& u, double spread, Rng& rng);

}  // namespace headway::theory
