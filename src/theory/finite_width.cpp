#include "headway/theory/finite_width.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"

namespace headway::theory {
namespace {

constexpr double kSinglePrecisionFlops =
    3e9;  // of third derivatives, from which on 5 digits of a correction are enough

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

/// dD/dU_l = (n_l + 1) U_l^{-1} (D of eq. 35), n_l the size of U_l.
std::vector<MatrixXd> log_jacobian_gradient(const OrderParameters& u) {
  std::vector<MatrixXd> gradient;
  for (int l = 1; l <= static_cast<int>(u.layers.size()) + 1; ++l) {
    const MatrixXd inverse = SpdFactor::factor(u.at(l))->inverse();
    gradient.push_back(static_cast<double>(inverse.rows() + 1) * inverse);
  }
  return gradient;
}

/// sum_kl S_jkl Sigma_kl (eq. 40): energy part from the kernels, entropy part along a square root
/// of Sigma.
VectorXd contract_third(const Action& action, const SaddlePoint& saddle, const MatrixXd& sigma) {
  const OrderParameters& u = saddle.order_parameters;
  const Index first = symmetric_size(u.layers.front().rows());
  std::vector<MatrixXd> total;
  for (int l = 1; l <= action.architecture().layers() + 1; ++l) {
    total.push_back(MatrixXd::Zero(u.at(l).rows(), u.at(l).cols()));
  }
  const bool large = action.kernels().cost().third_derivative_flops > kSinglePrecisionFlops;
  total[0] = saddle.evaluation.energy->contract_third_derivative(
      sigma.topLeftCorner(first, first), large ? Precision::kSingle : Precision::kDouble);
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(sigma, true);
  for (Index m = 0; m < sigma.cols(); ++m) {
    const VectorXd direction = std::sqrt(std::max(0.0, eigen.values[m])) * eigen.vectors.col(m);
    const std::vector<MatrixXd> part = entropy_gradient_second_derivative(
        action.architecture(), u, to_order_parameters(direction, u));
    for (std::size_t l = 0; l < total.size(); ++l) total[l] += part[l];
  }
  return to_vector(total);
}

}  // namespace

double smallest_hessian_eigenvalue(const Action& action, const MatrixXd& svec_hessian) {
  const VectorXd weights = entry_weights(action);
  const MatrixXd in_entries = weights.asDiagonal() * svec_hessian * weights.asDiagonal();
  return numerics::symmetric_eigen(in_entries, false).values[0] /
         action.architecture().largest_width();
}

FiniteWidthCorrection finite_width_correction(const Action& action, const SaddlePoint& saddle,
                                              const MatrixXd& svec_hessian,
                                              const MatrixXd& test_features) {
  FiniteWidthCorrection result;
  const OrderParameters& u = saddle.order_parameters;
  const std::optional<SpdFactor> factor = SpdFactor::factor(svec_hessian);
  if (!factor) {
    result.reason = "the Hessian at the saddle point is not positive definite";
    return result;
  }
  const MatrixXd sigma = 2.0 * factor->inverse();
  const VectorXd force =
      0.5 * to_vector(log_jacobian_gradient(u)) + 0.25 * contract_third(action, saddle, sigma);
  std::vector<MatrixXd> layers = u.layers;
  layers.push_back(u.readout);
  const VectorXd corrected =
      to_vector(layers) - numerics::multiply_vector(sigma, numerics::Transpose::kNo, force);
  result.mean = to_order_parameters(corrected, u);
  result.deviation =
      to_order_parameters(sigma.diagonal().cwiseSqrt(), u);  // sd of an entry = sd of svec / weight
  for (int l = 1; l <= action.architecture().layers() + 1; ++l) {
    if (!SpdFactor::factor(result.mean.at(l))) {
      result.reason = "the corrected U_" +
                      (l <= action.architecture().layers() ? std::to_string(l) : std::string("a")) +
                      " is not positive definite: the width is too small for a first correction";
      return result;
    }
  }
  result.defined = true;
  if (test_features.rows() == 0) return result;
  const std::unique_ptr<EnergyState> at_mean =
      action.kernels().evaluate(result.mean.layers.front(), action.temperature());
  if (!at_mean) {
    result.defined = false;
    result.reason = "K + T I at the corrected U is not positive definite";
    return result;
  }
  const Index first = symmetric_size(u.layers.front().rows());
  const numerics::SymmetricEigen eigen =
      numerics::symmetric_eigen(sigma.topLeftCorner(first, first), true);
  const MatrixXd root = eigen.vectors * eigen.values.cwiseMax(0.0).cwiseSqrt().asDiagonal();
  const PredictionFluctuation fluctuation =
      saddle.evaluation.energy->predictor_fluctuation(u.layers.front(), root, test_features);
  result.prediction = at_mean->predict(test_features);
  result.prediction.mean += fluctuation.mean_shift;
  result.prediction.variance += fluctuation.mean_variance;
  return result;
}

}  // namespace headway::theory
