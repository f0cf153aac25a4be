#include "saddle_point_newton.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "headway/core/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::SpdFactor;
using numerics::symmetric_size;
using numerics::Transpose;

constexpr Index kLargestEigenProblem =
    700;  // unknowns up to which an indefinite Hessian is repaired by its eigenvalues
constexpr double kArmijo = 1e-4;
constexpr int kLargestHalvings = 40;

std::vector<MatrixXd> all_layers(const OrderParameters& u) {
  std::vector<MatrixXd> all = u.layers;
  all.push_back(u.readout);
  return all;
}

/// Block-diagonal matrix of the congruences D_l -> F_l D_l F_l^T in svec coordinates, U_l = F_l
/// F_l^T.
MatrixXd frame_matrix(const OrderParameters& u) {
  const std::vector<MatrixXd> layers = all_layers(u);
  Index total = 0;
  for (const MatrixXd& m : layers) total += symmetric_size(m.rows());
  MatrixXd frame = MatrixXd::Zero(total, total);
  Index offset = 0;
  for (const MatrixXd& m : layers) {
    const std::optional<SpdFactor> factor = SpdFactor::factor(m);
    const MatrixXd block = numerics::symmetric_congruence(factor->lower());
    frame.block(offset, offset, block.rows(), block.cols()) = block;
    offset += block.rows();
  }
  return frame;
}

/// The second derivative of U = F exp(D) F^T contributes tr(G D U^{-1} D) (eq. 29) (eq. 29) (eq.
/// 29) (eq. 29) to the Hessian in D.
void add_geodesic_term(const OrderParameters& u, const std::vector<MatrixXd>& gradient,
                       MatrixXd& hessian) {
  Index offset = 0;
  for (int l = 1; l <= static_cast<int>(gradient.size()); ++l) {
    const std::optional<SpdFactor> factor = SpdFactor::factor(u.at(l));
    const MatrixXd block = numerics::symmetric_kronecker(gradient[l - 1], factor->inverse());
    hessian.block(offset, offset, block.rows(), block.cols()) += block;
    offset += block.rows();
  }
}

/// Newton direction with the Hessian made positive definite in the geodesic metric where it is not.
VectorXd newton_direction(const OrderParameters& u, const MatrixXd& hessian,
                          const VectorXd& gradient) {
  if (const std::optional<SpdFactor> factor = SpdFactor::factor(hessian)) {
    if (factor->condition_estimate() < 1e14) return -factor->solve(gradient);
  }
  const MatrixXd frame = frame_matrix(u);
  MatrixXd product(hessian.rows(), hessian.cols());
  multiply(1.0, hessian, Transpose::kNo, frame, Transpose::kNo, 0.0, product);
  MatrixXd whitened(hessian.rows(), hessian.cols());
  multiply(1.0, frame, Transpose::kYes, product, Transpose::kNo, 0.0, whitened);
  const VectorXd g = frame.transpose() * gradient;
  if (hessian.rows() <= kLargestEigenProblem) {
    const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(whitened, true);
    const double floor = 1e-10 * eigen.values.cwiseAbs().maxCoeff();
    const VectorXd curvature = eigen.values.cwiseAbs().cwiseMax(floor);
    const VectorXd in_frame = eigen.vectors.transpose() * g;
    return -(frame * (eigen.vectors * in_frame.cwiseQuotient(curvature)));
  }
  for (double shift = 1e-3 * whitened.diagonal().cwiseAbs().maxCoeff();; shift *= 4.0) {
    MatrixXd shifted = whitened;
    shifted.diagonal().array() += shift;
    if (const std::optional<SpdFactor> factor = SpdFactor::factor(std::move(shifted))) {
      return -(frame * factor->solve(g));
    }
  }
}

/// U exp(U^{-1} D t), layer by layer; also the largest |eigenvalue| of U^{-1/2} D U^{-1/2}.
struct GeodesicStep {
  std::vector<MatrixXd> frame;  // Cholesky factors
  std::vector<MatrixXd> logs;   // F^{-1} D F^{-T}
  double size = 0.0;

  GeodesicStep(const OrderParameters& u, const OrderParameters& direction) {
    for (int l = 1; l <= static_cast<int>(u.layers.size()) + 1; ++l) {
      const std::optional<SpdFactor> factor = SpdFactor::factor(u.at(l));
      MatrixXd log = direction.at(l);
      factor->half_solve(log);
      MatrixXd transposed = log.transpose();
      factor->half_solve(transposed);
      log = 0.5 * (transposed + transposed.transpose());
      size = std::max(size, numerics::symmetric_eigen(log, false).values.cwiseAbs().maxCoeff());
      frame.push_back(factor->lower());
      logs.push_back(std::move(log));
    }
  }
  [[nodiscard]] OrderParameters at(double t, const OrderParameters& shape) const {
    OrderParameters u = shape;
    for (std::size_t l = 0; l < logs.size(); ++l) {
      const MatrixXd moved =
          frame[l] * numerics::symmetric_exponential(t * logs[l]) * frame[l].transpose();
      u.at(static_cast<int>(l) + 1) = 0.5 * (moved + moved.transpose());
    }
    return u;
  }
};

/// The part of the energy's Hessian beyond the average information J = alpha^T C_k K^{-1} C_l
/// alpha: exact where it was computed (J minus the Fisher information), then kept up by symmetric
/// rank-one updates from differences of the gradient.
class EnergyHessian {
 public:
  /// Exact at this state, the trace in single precision.
  MatrixXd exact(const EnergyState& state) {
    MatrixXd information = state.average_information();
    correction_ = information - state.fisher_information(Precision::kSingle);
    information += correction_;
    return information;
  }
  [[nodiscard]] MatrixXd approximate(const EnergyState& state) const {
    MatrixXd information = state.average_information();
    if (correction_.size() != 0) information += correction_;
    return information;
  }
  void learn(const OrderParameters& before, const OrderParameters& after,
             const EnergyState& state_before, const EnergyState& state_after) {
    const VectorXd s = numerics::symmetric_to_vector(after.layers.front() - before.layers.front());
    const VectorXd y = numerics::symmetric_to_vector(state_after.gradient - state_before.gradient);
    if (correction_.size() == 0) correction_ = MatrixXd::Zero(s.size(), s.size());
    const VectorXd residual = y - state_after.average_information() * s - correction_ * s;
    const double denominator = residual.dot(s);
    if (std::abs(denominator) > 1e-8 * residual.norm() * s.norm()) {
      correction_ += residual * residual.transpose() / denominator;
    }
  }

 private:
  MatrixXd correction_;
};

class NewtonSolver {
 public:
  NewtonSolver(const Action& action, const SaddlePointOptions& options, bool exact,
               Observer& observer)
      : action_(action), options_(options), exact_(exact), observer_(observer) {}

  SaddlePoint run(const OrderParameters& start) {
    u_ = start;
    if (options_.elimination == Elimination::kClosedForm)
      eliminate_upper_layers(action_.architecture(), u_);
    evaluation_ = evaluate(u_);
    if (!evaluation_.energy) {
      throw Error(
          ErrorKind::kBadStudy,
          fmt::format(
              "model.temperature = {}: K + T I is not positive definite at the start; a larger "
              "temperature or more features than examples is needed",
              action_.temperature()));
    }
    summary_.optimizer = exact_ ? "newton" : "quasi_newton";
    record(0.0);
    while (!finished()) {
      if (!step()) break;
    }
    summary_.gradient_norm = evaluation_.gradient_norm(action_.architecture());
    summary_.gradient_rounding = estimate_gradient_rounding(action_, evaluation_);
    return {std::move(u_), std::move(evaluation_), std::move(summary_)};
  }

 private:
  Action::Evaluation evaluate(const OrderParameters& u) {
    ++summary_.evaluations;
    return action_.evaluate(u);
  }

  void record(double log_step) {
    summary_.record(evaluation_.value / action_.architecture().largest_width(),
                    evaluation_.gradient_norm(action_.architecture()), log_step);
  }

  bool finished() {
    const double norm = evaluation_.gradient_norm(action_.architecture());
    if (norm <= options_.gradient_tolerance) {
      summary_.converged = true;
      summary_.message = fmt::format("converged: gradient norm {:.1e} <= {:.1e}", norm,
                                     options_.gradient_tolerance);
      return true;
    }
    if (summary_.iterations >= options_.max_iterations) {
      summary_.message = fmt::format(
          "not converged: gradient norm {:.1e} after {} iterations (solve.max_iterations)", norm,
          summary_.iterations);
      return true;
    }
    if (observer_.interrupted()) {
      summary_.message = "interrupted";
      return true;
    }
    return false;
  }

  /// No step lowers the action any more: converged as far as rounding allows, or stuck.
  void judge_stall() {
    const double norm = evaluation_.gradient_norm(action_.architecture());
    const double rounding = estimate_gradient_rounding(action_, evaluation_);
    summary_.converged = norm <= 10.0 * std::max(rounding, options_.gradient_tolerance);
    summary_.message = fmt::format(
        "{}: gradient norm {:.1e}, rounding allows {:.1e}",
        summary_.converged ? "converged to rounding" : "not converged: no step lowers the action",
        norm, rounding);
  }

  MatrixXd hessian() {
    const EnergyState& state = *evaluation_.energy;
    MatrixXd h = entropy_hessian(action_.architecture(), u_);
    // Close to the solution the last exact Hessian, kept up by the gradients, is as good as a new
    // one.
    const bool renew = exact_ && (summary_.iterations == 0 ||
                                  summary_.history.back().log_step > options_.hessian_renewal_step);
    const MatrixXd part = renew ? energy_hessian_.exact(state) : energy_hessian_.approximate(state);
    if (renew) ++summary_.hessians;
    h.topLeftCorner(part.rows(), part.cols()) += part;
    add_geodesic_term(u_, evaluation_.gradient, h);
    return h;
  }

  bool step() {
    const VectorXd gradient = to_vector(evaluation_.gradient);
    const VectorXd direction = newton_direction(u_, hessian(), gradient);
    const GeodesicStep geodesic(u_, to_order_parameters(direction, u_));
    const double slope = gradient.dot(direction);
    double t = std::min(1.0, options_.max_log_step / geodesic.size);
    if (!(slope < 0.0) || !std::isfinite(geodesic.size)) {
      judge_stall();
      return false;
    }
    // Below `noise`, differences of S are rounding: the slope along the step decides instead (Hager
    // and Zhang 2005).
    const double noise = 1e-12 * std::max(1.0, std::abs(evaluation_.value));
    for (int halvings = 0; halvings < kLargestHalvings; ++halvings, t *= 0.5) {
      OrderParameters trial = geodesic.at(t, u_);
      if (options_.elimination == Elimination::kClosedForm)
        eliminate_upper_layers(action_.architecture(), trial);
      Action::Evaluation next = evaluate(trial);
      if (!next.energy) continue;
      const bool decreased = next.value <= evaluation_.value + kArmijo * t * slope;
      const bool flat = std::abs(t * slope) < noise && next.value < evaluation_.value + noise &&
                        std::abs(to_vector(next.gradient).dot(direction)) < 0.9 * std::abs(slope);
      if (decreased || flat) {
        accept(std::move(trial), std::move(next), t * geodesic.size);
        return true;
      }
    }
    judge_stall();
    return false;
  }

  void accept(OrderParameters trial, Action::Evaluation next, double log_step) {
    energy_hessian_.learn(u_, trial, *evaluation_.energy, *next.energy);
    u_ = std::move(trial);
    evaluation_ = std::move(next);
    ++summary_.iterations;
    record(log_step);
  }

  const Action& action_;
  const SaddlePointOptions& options_;
  bool exact_;
  Observer& observer_;
  OrderParameters u_;
  Action::Evaluation evaluation_;
  SaddlePointSummary summary_;
  EnergyHessian energy_hessian_;
};

}  // namespace

double estimate_gradient_rounding(const Action& action, const Action::Evaluation& evaluation) {
  // Relative error eps * cond in (K + T)^{-1}; the terms that cancel in the gradient are as large
  // as the quadratic form and the number of examples, spread over U.
  const double eps = 2.2e-16;
  const EnergyState& e = *evaluation.energy;
  const double terms = std::max(e.quadratic, static_cast<double>(action.kernels().examples()));
  return eps * std::sqrt(e.condition) * terms / action.architecture().largest_width();
}

SaddlePoint solve_by_newton(const Action& action, const OrderParameters& start,
                            const SaddlePointOptions& options, bool exact_hessian,
                            Observer& observer) {
  return NewtonSolver(action, options, exact_hessian, observer).run(start);
}

}  // namespace headway::theory
