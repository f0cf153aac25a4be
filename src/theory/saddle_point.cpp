#include "headway/theory/saddle_point.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "headway/core/error.hpp"
#include "headway/core/rng.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "saddle_point_newton.hpp"

namespace headway::theory {
namespace {

constexpr Index kLargestDenseProblem =
    6000;  // unknowns with a dense Hessian (288 MB); beyond, L-BFGS
constexpr double kQuasiNewtonIterations =
    3.0;  // how many times more iterations quasi-Newton takes (measured)

Optimizer choose(const Action& action, const SaddlePointOptions& options) {
  if (options.optimizer != Optimizer::kAuto) return options.optimizer;
  if (action.unknowns() > kLargestDenseProblem) return Optimizer::kCeres;
  const double evaluation = action.kernels().cost().evaluation_flops;
  const double hessian = action.kernels().cost().hessian_flops;
  return hessian + evaluation < kQuasiNewtonIterations * evaluation || hessian < 5e10
             ? Optimizer::kNewton
             : Optimizer::kQuasiNewton;
}

}  // namespace

void SaddlePointOptions::validate() const {
  const auto fail = [](const std::string& message) { throw Error(ErrorKind::kBadStudy, message); };
  if (!(gradient_tolerance > 0.0) || !(gradient_tolerance < 1.0)) {
    fail(fmt::format("solve.gradient_tolerance = {}: must be in (0, 1)", gradient_tolerance));
  }
  if (max_iterations < 1)
    fail(fmt::format("solve.max_iterations = {}: must be at least 1", max_iterations));
  if (!(hessian_renewal_step >= 0.0)) {
    fail(
        fmt::format("solve.hessian_renewal_step = {}: must not be negative", hessian_renewal_step));
  }
  if (!(max_log_step > 0.0))
    fail(fmt::format("solve.max_log_step = {}: must be positive", max_log_step));
}

SaddlePoint solve_saddle_point(const Action& action, const OrderParameters& start,
                               const SaddlePointOptions& options, Observer& observer) {
  options.validate();
  check_order_parameters(start, action.architecture());
  const Optimizer optimizer = choose(action, options);
  if (optimizer == Optimizer::kCeres) return solve_by_ceres(action, start, options, observer);
  return solve_by_newton(action, start, options, optimizer == Optimizer::kNewton, observer);
}

OrderParameters perturb_order_parameters(const OrderParameters& u, double spread, Rng& rng) {
  OrderParameters result = u;
  for (int l = 1; l <= static_cast<int>(u.layers.size()) + 1; ++l) {
    const std::optional<numerics::SpdFactor> factor = numerics::SpdFactor::factor(u.at(l));
    const Index n = u.at(l).rows();
    VectorXd d(numerics::symmetric_size(n));
    for (double& x : d) x = spread * rng.normal() / std::sqrt(static_cast<double>(n));
    const MatrixXd moved = factor->lower() *
                           numerics::symmetric_exponential(numerics::vector_to_symmetric(d, n)) *
                           factor->lower().transpose();
    result.at(l) = 0.5 * (moved + moved.transpose());
  }
  return result;
}

}  // namespace headway::theory
