#include "headway/saddle_point.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "headway/core/option_table.hpp"
#include "headway/core/rng.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "saddle_point_newton.hpp"

namespace headway::theory {
namespace {

constexpr int kMostIterations = 1'000'000;
constexpr double kQuasiNewtonIterations =
    3.0;  // how many times more iterations quasi-Newton takes (measured)
// What a solution takes on average (measured).
constexpr double kNewtonIterations = 7.0;
constexpr double kNewtonHessians = 2.5;
constexpr double kCgProducts = 50.0;
constexpr double kCgEvaluations = 9.0;
constexpr double kSmallProblem = 2e9;  // with fewer flops Newton's method is kept

/// Flops of a solution by dense Hessians. product_flops() gives those of a solution by products
/// with directions. The cheaper way is taken.
double dense_flops(const Action& action) {
  const KernelCost& cost = action.kernels().cost();
  const double n = static_cast<double>(action.unknowns());
  const double rows = static_cast<double>(action.kernels().examples() * action.kernels().outputs());
  const double information = n * n * rows + n * rows * rows;
  return kNewtonHessians * cost.hessian_flops +
         kNewtonIterations * (cost.evaluation_flops + information + n * n * n);
}

double product_flops(const Action& action) {
  return kCgProducts * steering_flops(action) +
         kCgEvaluations * action.kernels().cost().evaluation_flops;
}

/// Refuses a dense Hessian that would take minutes a step, and more memory than was announced.
void refuse_dense(const Action& action, Optimizer optimizer) {
  if (action.unknowns() <= kLargestDenseProblem) return;
  throw Error(
      ErrorKind::kBadStudy,
      fmt::format("solve.optimizer = \"{}\": makes a matrix of {} x {} unknowns; allowed: up to "
                  "{}. Take \"auto\" or \"newton_cg\", which make none",
                  word_of(optimizer), action.unknowns(), action.unknowns(), kLargestDenseProblem));
}

Optimizer choose(const Action& action, const SaddlePointOptions& options) {
  if (options.optimizer == Optimizer::kNewton || options.optimizer == Optimizer::kQuasiNewton)
    refuse_dense(action, options.optimizer);
  if (options.optimizer != Optimizer::kAuto) return options.optimizer;
  if (action.unknowns() > kLargestDenseProblem) return Optimizer::kNewtonCg;
  const double dense = dense_flops(action);
  if (dense > kSmallProblem && product_flops(action) < dense) return Optimizer::kNewtonCg;
  const double evaluation = action.kernels().cost().evaluation_flops;
  const double hessian = action.kernels().cost().hessian_flops;
  return hessian + evaluation < kQuasiNewtonIterations * evaluation || hessian < 5e10
             ? Optimizer::kNewton
             : Optimizer::kQuasiNewton;
}

}  // namespace

double steering_flops(const Action& action) {
  const KernelCost& cost = action.kernels().cost();
  const double p = static_cast<double>(action.kernels().order());
  return cost.product_flops * (cost.whitened_products ? 0.5 : 1.0) + 6.0 * p * p * p;
}

Words<Optimizer> words_of(Optimizer) {
  static constexpr Word<Optimizer> kWords[] = {{"auto", Optimizer::kAuto},
                                               {"newton", Optimizer::kNewton},
                                               {"quasi_newton", Optimizer::kQuasiNewton},
                                               {"newton_cg", Optimizer::kNewtonCg},
                                               {"ceres", Optimizer::kCeres}};
  return kWords;
}

Words<Elimination> words_of(Elimination) {
  static constexpr Word<Elimination> kWords[] = {{"joint", Elimination::kJoint},
                                                 {"closed_form", Elimination::kClosedForm}};
  return kWords;
}

const OptionTable<SaddlePointOptions>& SaddlePointOptions::table() {
  using S = SaddlePointOptions;
  static const OptionTable<S> table = {{
      option("gradient_tolerance", &S::gradient_tolerance, real(0.0, 1.0, Ends::kOpen),
             "stop at this largest entry of dS/dU / max N, in units of U at infinite width. Raise "
             "it if rounding keeps a point above it."),
      option("max_iterations", &S::max_iterations, integer<int>(1, kMostIterations),
             "most iterations of a point. ceres needs hundreds or thousands."),
      option(
          "optimizer", &S::optimizer, choice<Optimizer>(),
          "how the action is minimised. auto takes the cheapest of the Newton methods; newton_cg "
          "makes no Hessian and suits many paths; ceres is for comparison."),
      option(
          "elimination", &S::elimination, choice<Elimination>(),
          "U_2, ..., U_L and U_a are unknowns like U_1 (joint), or follow from U_1 in closed form"),
  }};
  return table;
}

void SaddlePointOptions::validate() const {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  check_options(table(), *this, "solve");
  real(0.0, 1.0).check(hessian_renewal_share, "SaddlePointOptions::hessian_renewal_share");
  real(0.0, kUnbounded, Ends::kOpenBelow).check(max_log_step, "SaddlePointOptions::max_log_step");
}

SaddlePoint solve_saddle_point(const Action& action, const OrderParameters& start,
                               const SaddlePointOptions& options, Observer& observer,
                               const SaddlePointHooks& hooks) {
  options.validate();
  check_order_parameters(start, action.architecture());
  const Optimizer optimizer = choose(action, options);
  SaddlePoint saddle =
      optimizer == Optimizer::kNewtonCg
          ? solve_by_newton_cg(action, start, options, observer, hooks)
      : optimizer == Optimizer::kCeres
          ? solve_by_ceres(action, start, options, observer)
          : solve_by_newton(action, start, options, optimizer == Optimizer::kNewton, observer);
  if (saddle.summary.converged && is_kernel_below_rounding(action, saddle)) {
    saddle.summary.converged = false;
    saddle.summary.message = fmt::format(
        "not converged: at the variances [{}] the kernel is so small beside the temperature "
        "{:.3g} that rounding leaves nothing of it. Raise model.variances or lower "
        "model.temperature",
        join(action.architecture().variances, ", "), action.temperature());
  }
  return saddle;
}

bool is_kernel_below_rounding(const Action& action, const SaddlePoint& saddle) {
  const EnergyState* energy = saddle.evaluation.energy.get();
  if (energy == nullptr || !(action.temperature() > 0.0)) return false;
  const PathKernels& kernels = action.kernels();
  const MatrixXd& u = saddle.order_parameters.layers.front();
  const Index outputs = kernels.outputs(), paths = u.rows() / outputs;
  double change = 0.0;
  if (kernels.features().size() > 0) {
    const Index n0 = kernels.features().cols() / paths;
    for (Index a = 0; a < paths; ++a) {
      change += u.diagonal().segment(a * outputs, outputs).sum() *
                kernels.features().middleCols(a * n0, n0).squaredNorm() / action.temperature();
    }
  } else {  // without features: from the energy's gradient, which has rounding errors
    change = energy->gradient.cwiseProduct(u).cwiseAbs().sum();
  }
  const auto terms = static_cast<double>(kernels.examples() * outputs);
  // 0: no kernel at all, and the prior is the solution.
  return change > 0.0 && change <= std::numeric_limits<double>::epsilon() * terms;
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
