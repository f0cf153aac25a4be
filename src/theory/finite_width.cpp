#include "headway/theory/finite_width.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "conjugate_gradients.hpp"
#include "headway/core/rng.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/theory/hessian_probes.hpp"
#include "headway/theory/repeated_predictor.hpp"
#include "second_order_blocks.hpp"

namespace headway::theory {
namespace {

constexpr double kSinglePrecisionFlops =
    3e9;  // with more flops of third derivatives, single precision is used: 5 digits are enough
constexpr std::size_t kProbeGroups = 4;  // groups of draws, whose spread gives the error
constexpr double kSolveTolerance = 1e-6;
constexpr int kMostSolveProducts = 300;
constexpr Index kLanczosFrom = 200;  // unknowns
constexpr Index kLanczosSteps = 150;
constexpr double kLanczosResidual = 1e-7;
constexpr double kVarianceRounding = 1e-10;  // of the largest variance

using numerics::SpdFactor;
using numerics::symmetric_index;
using numerics::symmetric_size;
using numerics::symmetric_weight;

/// sqrt(2) for off-diagonal entries: d svec / d entry.
VectorXd entry_weights(const Action& action) {
  VectorXd weights(action.unknowns());
  Index offset = 0;
  for (int l = 1; l <= action.architecture().layers() + 1; ++l) {
    const Index n = action.architecture().outputs * action.architecture().paths_above(l);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j)
        weights[offset + symmetric_index(i, j)] = symmetric_weight(i, j);
    }
    offset += symmetric_size(n);
  }
  return weights;
}

/// dD/dU_l = (d_l + 1) U_l^{-1} (D of eq. 35), d_l the size of U_l.
std::vector<MatrixXd> log_jacobian_gradient(const OrderParameters& u) {
  std::vector<MatrixXd> gradient;
  for (int l = 1; l <= static_cast<int>(u.layers.size()) + 1; ++l) {
    const MatrixXd inverse = SpdFactor::factor(u.at(l))->inverse();
    gradient.push_back(static_cast<double>(inverse.rows() + 1) * inverse);
  }
  return gradient;
}

/// sum_kl S_jkl Sigma_kl (eq. 40): energy part from the kernels, entropy part along a square root
/// of Sigma. Empty when interrupted.
VectorXd contract_third(const Action& action, const SaddlePoint& saddle, const MatrixXd& sigma,
                        Observer& observer) {
  if (observer.interrupted()) return {};
  const OrderParameters& u = saddle.order_parameters;
  const Index first = symmetric_size(u.layers.front().rows());
  std::vector<MatrixXd> total;
  for (int l = 1; l <= action.architecture().layers() + 1; ++l) {
    total.push_back(MatrixXd::Zero(u.at(l).rows(), u.at(l).cols()));
  }
  const bool large = action.kernels().cost().third_derivative_flops > kSinglePrecisionFlops;
  total[0] = saddle.evaluation.energy->contract_third_derivative(
      sigma.topLeftCorner(first, first), large ? Precision::kSingle : Precision::kDouble);
  const MatrixXd root = factor_covariance(sigma);
  for (Index m = 0; m < root.cols(); ++m) {
    if (observer.interrupted()) return {};
    observer.progress("1/N correction", static_cast<double>(m), static_cast<double>(root.cols()));
    const std::vector<MatrixXd> part = entropy_gradient_second_derivative(
        action.architecture(), u, to_order_parameters(root.col(m), u));
    for (std::size_t l = 0; l < total.size(); ++l) total[l] += part[l];
  }
  return to_vector(total);
}

/// Whether the corrected U is positive definite; says why not.
bool check_positive(FiniteWidthCorrection& result) {
  const int layers = static_cast<int>(result.mean.layers.size());
  for (int l = 1; l <= layers + 1; ++l) {
    if (SpdFactor::factor(result.mean.at(l))) continue;
    result.reason = "the corrected U_" + (l <= layers ? std::to_string(l) : std::string("a")) +
                    " is not positive definite: the width is too small for a first correction";
    return false;
  }
  return true;
}

/// The second line of eq. 41. NaN where it is negative by more than rounding.
MatrixXd corrected_variance(const MatrixXd& at_mean, const PredictionFluctuation& fluctuation) {
  MatrixXd variance = at_mean + fluctuation.mean_variance + fluctuation.variance_shift;
  const double rounding = kVarianceRounding * at_mean.maxCoeff();
  for (double& v : variance.reshaped()) {
    if (v < 0.0) v = v < -rounding ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  }
  return variance;
}

/// The predictor at the corrected U, with its curvature and fluctuation along the columns of
/// `root`, root root^T = Sigma of U_1 (eqs. 41 and 42).
void predict(const Action& action, const SaddlePoint& saddle, const MatrixXd& root,
             const RepeatedPredictor* test, Observer& observer, FiniteWidthCorrection& result) {
  if (test == nullptr || test->examples() == 0) return;
  const std::unique_ptr<EnergyState> at_mean =
      action.kernels().evaluate(result.mean.layers.front(), action.temperature());
  if (!at_mean) {
    result.defined = false;
    result.reason = "K + T I at the corrected U is not positive definite";
    return;
  }
  const PredictionFluctuation fluctuation = test->fluctuation(
      *saddle.evaluation.energy, saddle.order_parameters.layers.front(), root, observer);
  if (fluctuation.mean_shift.rows() == 0) {
    result.defined = false;
    result.reason = "interrupted";
    return;
  }
  result.prediction = test->predict(*at_mean, result.mean.layers.front());
  result.prediction.mean += fluctuation.mean_shift;
  result.prediction.variance = corrected_variance(result.prediction.variance, fluctuation);
}

/// The mean over a range of draws of 1/2 dD/dx + 1/4 S_jkl s_k s_l, in geodesic coordinates, where
/// dD/dU_l = (d_l + 1) U_l^{-1} is (d_l + 1) I.
Tangent mean_force(const ActionCurvature& at, const std::vector<Tangent>& draws, std::size_t begin,
                   std::size_t end) {
  Tangent force;
  for (const MatrixXd& m : draws.front()) {
    const double size = static_cast<double>(m.rows());
    force.emplace_back(0.5 * (size + 1.0) * MatrixXd::Identity(m.rows(), m.cols()));
  }
  for (std::size_t m = begin; m < end; ++m)
    add_scaled(force, 0.25 / static_cast<double>(end - begin), at.third_derivative(draws[m]));
  return force;
}

/// Smallest eigenvalue of a positive definite matrix: the largest of its inverse, by Lanczos
/// iteration with every vector kept orthogonal to all others. Nothing where the matrix is not
/// positive definite or the iteration does not converge. Cost: n^3 / 3 flops, and 2 n^2 a step,
/// where all eigenvalues cost 4 n^3 / 3, half of them bound by memory.
std::optional<double> smallest_by_lanczos(const MatrixXd& a) {
  const std::optional<SpdFactor> factor = SpdFactor::factor(a);
  if (!factor) return std::nullopt;
  Rng rng(0, StreamPurpose::kHessianProbes);
  MatrixXd basis(a.rows(), kLanczosSteps + 1);
  for (double& x : basis.col(0)) x = rng.normal();
  basis.col(0).normalize();
  VectorXd diagonal(kLanczosSteps);
  VectorXd below(kLanczosSteps);
  for (Index k = 0; k < kLanczosSteps; ++k) {
    VectorXd next = factor->solve(basis.col(k));
    diagonal[k] = next.dot(basis.col(k));
    const auto known = basis.leftCols(k + 1);
    for (int pass = 0; pass < 2; ++pass) next -= known * (known.transpose() * next);
    below[k] = next.norm();
    const numerics::SymmetricEigen eigen =
        numerics::tridiagonal_eigen(diagonal.head(k + 1), below.head(k));
    const double value = eigen.values[k];
    // The error is of second order in this residual.
    const double residual = below[k] * std::abs(eigen.vectors(k, k));
    if (residual <= kLanczosResidual * value) return 1.0 / value;
    basis.col(k + 1) = next / below[k];
  }
  return std::nullopt;
}

/// Standard deviations of the entries of U (see the header).
OrderParameters probe_deviations(const ActionCurvature& at, const OrderParameters& u,
                                 const HessianProbes& probes) {
  OrderParameters sum = u;
  OrderParameters entropy_sum = u;
  const int top = static_cast<int>(u.layers.size()) + 1;
  for (int l = 1; l <= top; ++l) {
    sum.at(l).setZero();
    entropy_sum.at(l).setZero();
  }
  for (std::size_t m = 0; m < probes.draws.size(); ++m) {
    const OrderParameters d = at.to_direction(probes.draws[m]);
    const OrderParameters d0 = at.to_direction(probes.entropy_draws[m]);
    for (int l = 1; l <= top; ++l) {
      sum.at(l) += d.at(l).cwiseAbs2();
      entropy_sum.at(l) += d0.at(l).cwiseAbs2();
    }
  }
  OrderParameters deviation = u;
  for (int l = 1; l <= top; ++l) {
    const VectorXd diagonal = u.at(l).diagonal();
    // E[D_ij^2] = (U_ii U_jj + U_ij^2) / c for D = F E F^T, svec(E) of covariance (2 / c) I.
    const MatrixXd known = (diagonal * diagonal.transpose() + u.at(l).cwiseAbs2()) / at.scale(l);
    deviation.at(l) = known.cwiseProduct(sum.at(l)).cwiseQuotient(entropy_sum.at(l)).cwiseSqrt();
  }
  return deviation;
}

/// The Hessian at a point, which must outlive it, as a linear system.
LinearSystem hessian_system(const ActionCurvature& at) {
  return {.apply = [&at](const Tangent& e) { return at.hessian(e); },
          .precondition = [&at](const Tangent& e) { return at.precondition(e); },
          .seen = {}};
}

/// Why a linear system has no solution, for users.
std::string reason_of(LinearEnd end) {
  switch (end) {
    case LinearEnd::kSolved:
      return "";
    case LinearEnd::kMostProducts:
      return fmt::format("its linear systems were not solved in {} products", kMostSolveProducts);
    case LinearEnd::kNegativeCurvature:
      return "the Hessian at the saddle point is not positive definite";
    case LinearEnd::kInterrupted:
      return "interrupted";
  }
  return "";
}

}  // namespace

double smallest_hessian_eigenvalue(const Action& action, const MatrixXd& svec_hessian) {
  const VectorXd weights = entry_weights(action);
  const MatrixXd in_entries = weights.asDiagonal() * svec_hessian * weights.asDiagonal();
  if (!in_entries.allFinite()) return std::numeric_limits<double>::quiet_NaN();
  std::optional<double> value;
  if (in_entries.rows() >= kLanczosFrom) value = smallest_by_lanczos(in_entries);
  if (!value) value = numerics::symmetric_eigen(in_entries, false).values[0];
  return *value / action.architecture().largest_width();
}

double finite_width_flops(const Action& action) {
  const double n = static_cast<double>(action.unknowns());
  const double order = static_cast<double>(action.kernels().order());
  constexpr double kEntropyProducts = 24.0;  // of d_1 x d_1 matrices, along one direction
  return action.kernels().cost().third_derivative_flops + 3.0 * n * n * n +
         kEntropyProducts * n * order * order * order;
}

FiniteWidthCorrection finite_width_correction(const Action& action, const SaddlePoint& saddle,
                                              const MatrixXd& svec_hessian,
                                              const RepeatedPredictor* test, Observer& observer) {
  FiniteWidthCorrection result;
  const OrderParameters& u = saddle.order_parameters;
  const std::optional<SpdFactor> factor = SpdFactor::factor(svec_hessian);
  if (!factor) {
    result.reason = reason_of(LinearEnd::kNegativeCurvature);
    return result;
  }
  const MatrixXd sigma = 2.0 * factor->inverse();
  const VectorXd third = contract_third(action, saddle, sigma, observer);
  if (third.size() == 0) {
    result.reason = "interrupted";
    return result;
  }
  const VectorXd force = 0.5 * to_vector(log_jacobian_gradient(u)) + 0.25 * third;
  std::vector<MatrixXd> layers = u.layers;
  layers.push_back(u.readout);
  const VectorXd corrected =
      to_vector(layers) - numerics::multiply_vector(sigma, numerics::Transpose::kNo, force);
  result.mean = to_order_parameters(corrected, u);
  result.deviation =
      to_order_parameters(sigma.diagonal().cwiseSqrt(), u);  // sd of an entry = sd of svec / weight
  result.defined = check_positive(result);
  if (!result.defined) return result;
  const Index first = symmetric_size(u.layers.front().rows());
  predict(action, saddle, factor_covariance(sigma.topLeftCorner(first, first)), test, observer,
          result);
  return result;
}

FiniteWidthCorrection finite_width_correction(const Action& action, const SaddlePoint& saddle,
                                              const ActionCurvature& at,
                                              const HessianProbes& probes,
                                              const RepeatedPredictor* test, Observer& observer) {
  FiniteWidthCorrection result;
  const OrderParameters& u = saddle.order_parameters;
  if (!probes.positive || probes.interrupted || probes.draws.size() < kProbeGroups) {
    result.reason = !probes.positive     ? reason_of(LinearEnd::kNegativeCurvature)
                    : probes.interrupted ? reason_of(LinearEnd::kInterrupted)
                                         : "fewer probes than groups of them";
    return result;
  }
  const LinearSystem system = hessian_system(at);
  std::vector<OrderParameters> shifts;  // -Sigma force of each group
  for (std::size_t g = 0; g < kProbeGroups; ++g) {
    observer.progress("1/N correction", static_cast<double>(g), kProbeGroups);
    const std::size_t count = probes.draws.size();
    const Tangent force =
        mean_force(at, probes.draws, g * count / kProbeGroups, (g + 1) * count / kProbeGroups);
    LinearSolution solution =
        conjugate_gradients(system, force, kSolveTolerance, kMostSolveProducts, observer);
    if (solution.end != LinearEnd::kSolved) {
      result.reason = reason_of(solution.end);
      return result;
    }
    for (MatrixXd& m : solution.x) m *= -2.0;
    shifts.push_back(at.to_direction(solution.x));
  }
  result.mean = u;
  result.deviation = probe_deviations(at, u, probes);
  const double groups = static_cast<double>(kProbeGroups);
  for (int l = 1; l <= action.architecture().layers() + 1; ++l) {
    MatrixXd shift = MatrixXd::Zero(u.at(l).rows(), u.at(l).cols());
    for (const OrderParameters& s : shifts) shift += s.at(l) / groups;
    MatrixXd square = MatrixXd::Zero(shift.rows(), shift.cols());
    for (const OrderParameters& s : shifts) square += (s.at(l) - shift).cwiseAbs2();
    const MatrixXd error = (square / (groups * (groups - 1.0))).cwiseSqrt();
    result.probe_error =
        std::max(result.probe_error, error.cwiseQuotient(result.deviation.at(l)).maxCoeff());
    result.mean.at(l) += shift;
  }
  result.defined = check_positive(result);
  if (!result.defined) return result;
  MatrixXd root(symmetric_size(u.layers.front().rows()), static_cast<Index>(probes.draws.size()));
  for (Index m = 0; m < root.cols(); ++m) {
    root.col(m) = numerics::symmetric_to_vector(
                      at.to_direction(probes.draws[static_cast<std::size_t>(m)]).layers.front()) /
                  std::sqrt(static_cast<double>(root.cols()));
  }
  predict(action, saddle, root, test, observer, result);
  return result;
}

MatrixXd posterior_covariance(const MatrixXd& svec_hessian,
                              const std::vector<MatrixXd>& gradients) {
  const std::optional<SpdFactor> factor = SpdFactor::factor(svec_hessian);
  if (!factor) return {};
  MatrixXd columns = MatrixXd::Zero(svec_hessian.rows(), static_cast<Index>(gradients.size()));
  for (std::size_t h = 0; h < gradients.size(); ++h) {
    const VectorXd g = numerics::symmetric_to_vector(gradients[h]);
    columns.col(static_cast<Index>(h)).head(g.size()) = g;
  }
  return 2.0 * columns.transpose() * factor->solve(columns);
}

MatrixXd posterior_covariance(const ActionCurvature& at, const std::vector<MatrixXd>& gradients,
                              Observer& observer) {
  const LinearSystem system = hessian_system(at);
  std::vector<Tangent> slopes;  // F^T g F, with nothing above layer 1
  for (const MatrixXd& g : gradients) {
    const MatrixXd& f = at.frames().front();
    Tangent slope = {f.transpose() * g * f};
    for (std::size_t l = 1; l < at.frames().size(); ++l) {
      slope.push_back(MatrixXd::Zero(at.frames()[l].rows(), at.frames()[l].cols()));
    }
    slopes.push_back(std::move(slope));
  }
  const auto count = static_cast<Index>(gradients.size());
  MatrixXd covariance = MatrixXd::Zero(count, count);
  for (Index h = 0; h < count; ++h) {
    const Tangent& slope = slopes[static_cast<std::size_t>(h)];
    if (inner_product(slope, slope) == 0.0) continue;
    const LinearSolution solution =
        conjugate_gradients(system, slope, kSolveTolerance, kMostSolveProducts, observer);
    if (solution.end != LinearEnd::kSolved) return {};
    for (Index k = 0; k < count; ++k) {
      covariance(k, h) = 2.0 * inner_product(slopes[static_cast<std::size_t>(k)], solution.x);
    }
  }
  return 0.5 * (covariance + covariance.transpose());
}

}  // namespace headway::theory
