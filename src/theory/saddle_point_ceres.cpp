#include <ceres/gradient_problem.h>
#include <ceres/gradient_problem_solver.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "saddle_point_newton.hpp"

namespace headway::theory {
namespace {

using numerics::SpdFactor;
using numerics::symmetric_index;
using numerics::symmetric_size;

constexpr Index kLargestBfgsProblem = 700;  // unknowns with a dense inverse Hessian; beyond, L-BFGS

/// Log-Cholesky coordinates about the start: U_l = F_l B_l B_l^T F_l^T, B_l lower triangular with
/// exp(x) on its diagonal.
class LogCholesky {
 public:
  explicit LogCholesky(const OrderParameters& start) : shape_(start) {
    for (int l = 1; l <= static_cast<int>(start.layers.size()) + 1; ++l) {
      const std::optional<SpdFactor> factor = SpdFactor::factor(start.at(l));
      if (!factor)
        throw Error(ErrorKind::kBadStudy, "the start of the saddle point is not positive definite");
      frames_.push_back(factor->lower());
      size_ += symmetric_size(start.at(l).rows());
    }
  }
  [[nodiscard]] int size() const { return static_cast<int>(size_); }

  [[nodiscard]] OrderParameters order_parameters(const double* x) const {
    OrderParameters u = shape_;
    for (std::size_t l = 0; l < frames_.size(); ++l) {
      const MatrixXd f = frames_[l] * triangle(x, frames_[l].rows());
      u.at(static_cast<int>(l) + 1) = f * f.transpose();
      x += symmetric_size(frames_[l].rows());
    }
    return u;
  }
  void gradient(const double* x, const std::vector<MatrixXd>& du, double scale, double* out) const {
    for (std::size_t l = 0; l < frames_.size(); ++l) {
      const Index n = frames_[l].rows();
      const MatrixXd b = triangle(x, n);
      const MatrixXd db = 2.0 * scale * frames_[l].transpose() * du[l] * frames_[l] * b;
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j <= i; ++j)
          out[symmetric_index(i, j)] = i == j ? db(i, i) * b(i, i) : db(i, j);
      }
      x += symmetric_size(n);
      out += symmetric_size(n);
    }
  }

 private:
  static MatrixXd triangle(const double* x, Index n) {
    MatrixXd b = MatrixXd::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j) b(i, j) = x[symmetric_index(i, j)];
      b(i, i) = std::exp(x[symmetric_index(i, i)]);
    }
    return b;
  }

  OrderParameters shape_;
  std::vector<MatrixXd> frames_;
  Index size_ = 0;
};

class ActionFunction final : public ceres::FirstOrderFunction {
 public:
  ActionFunction(const Action& action, const LogCholesky& coordinates)
      : action_(action),
        coordinates_(coordinates),
        scale_(1.0 / action.architecture().largest_width()) {}
  [[nodiscard]] int NumParameters() const override { return coordinates_.size(); }
  bool Evaluate(const double* x, double* cost, double* gradient) const override {
    const Action::Evaluation evaluation = action_.evaluate(coordinates_.order_parameters(x));
    ++evaluations;
    if (!evaluation.energy) return false;
    *cost = evaluation.value * scale_;
    if (gradient != nullptr) coordinates_.gradient(x, evaluation.gradient, scale_, gradient);
    return true;
  }
  mutable int evaluations = 0;

 private:
  const Action& action_;
  const LogCholesky& coordinates_;
  double scale_;
};

class StopWhenAsked final : public ceres::IterationCallback {
 public:
  StopWhenAsked(Observer& observer, SaddlePointSummary& summary)
      : observer_(observer), summary_(summary) {}
  ceres::CallbackReturnType operator()(const ceres::IterationSummary& s) override {
    summary_.record(s.cost, s.gradient_max_norm, s.step_norm);
    return observer_.interrupted() ? ceres::SOLVER_ABORT : ceres::SOLVER_CONTINUE;
  }

 private:
  Observer& observer_;
  SaddlePointSummary& summary_;
};

std::string describe(const SaddlePointSummary& summary,
                     const ceres::GradientProblemSolver::Summary& ceres_summary) {
  if (!summary.converged && ceres_summary.termination_type == ceres::NO_CONVERGENCE) {
    return fmt::format(
        "not converged: gradient norm {:.1e} after {} iterations. Raise solve.max_iterations; "
        "Ceres needs hundreds or thousands",
        summary.gradient_norm, summary.iterations);
  }
  if (summary.converged) {
    return fmt::format("converged: gradient norm {:.1e} (Ceres: {})", summary.gradient_norm,
                       ceres_summary.message);
  }
  return fmt::format(
      "not converged: gradient norm {:.1e} (Ceres: {}). Its line search sees no smaller change of "
      "the action; the other optimizers go on from there",
      summary.gradient_norm, ceres_summary.message);
}

}  // namespace

SaddlePoint solve_by_ceres(const Action& action, const OrderParameters& start,
                           const SaddlePointOptions& options, Observer& observer) {
  const LogCholesky coordinates(start);
  auto function = std::make_unique<ActionFunction>(action, coordinates);
  const ActionFunction* counter = function.get();
  const ceres::GradientProblem problem(function.release());  // takes ownership (Ceres 2.x)
  SaddlePoint result;
  StopWhenAsked callback(observer, result.summary);
  ceres::GradientProblemSolver::Options ceres_options;
  ceres_options.line_search_direction_type =
      coordinates.size() <= kLargestBfgsProblem ? ceres::BFGS : ceres::LBFGS;
  ceres_options.max_lbfgs_rank = 50;
  ceres_options.max_num_iterations = options.max_iterations;
  ceres_options.gradient_tolerance = 0.2 * options.gradient_tolerance;
  ceres_options.function_tolerance = 0.0;
  ceres_options.parameter_tolerance = 0.0;
  ceres_options.logging_type = ceres::SILENT;
  ceres_options.callbacks.push_back(&callback);
  VectorXd x = VectorXd::Zero(coordinates.size());
  ceres::GradientProblemSolver::Summary ceres_summary;
  ceres::Solve(ceres_options, problem, x.data(), &ceres_summary);

  result.order_parameters = coordinates.order_parameters(x.data());
  result.evaluation = action.evaluate(result.order_parameters);
  if (!result.evaluation.energy) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("model.temperature = {}: K + T I is not positive definite at the "
                            "start: must be larger, or there must be more features than examples",
                            action.temperature()));
  }
  SaddlePointSummary& summary = result.summary;
  summary.optimizer = "ceres";
  // The first record is the start.
  summary.iterations = std::max(0, static_cast<int>(ceres_summary.iterations.size()) - 1);
  summary.evaluations = counter->evaluations;
  summary.gradient_norm = result.evaluation.gradient_norm(action.architecture());
  summary.gradient_rounding = estimate_gradient_rounding(action, result.evaluation);
  const double allowed = std::max(options.gradient_tolerance, 10.0 * summary.gradient_rounding);
  // As in GeodesicDescent: where rounding sets the bound, U must still have digits.
  summary.converged =
      result.evaluation.scaled_gradient_norm(action.architecture()) <= allowed &&
      (allowed == options.gradient_tolerance ||
       own_gradient_norm(action, result.order_parameters, result.evaluation) <= kLargestRest);
  summary.message = describe(summary, ceres_summary);
  return result;
}

}  // namespace headway::theory
