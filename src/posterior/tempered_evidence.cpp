#include "headway/posterior/tempered_evidence.hpp"

#include <algorithm>
#include <cmath>

#include "headway/numerics/statistics.hpp"

namespace headway::posterior {
namespace {

constexpr Index kBlocks = 10;  // of a chain's draws, for the jackknife
constexpr int kBridgeIterations = 200;
constexpr double kChainsApart = 3.0;  // error from the chains over that from the draws
// Below it neighbours share no region. Eigen's exp() ends at 1e-308 or so, and never gives 0.
constexpr double kNoOverlap = 1e-290;

// log Z(beta + h) / Z(beta) from equal numbers of draws at beta ("hot") and at beta + h ("cold").
// The ratio is the root r of eq. 47, which then is
//   mean over cold of 1 / (1 + w / r) = mean over hot of 1 / (1 + r / w),   w = exp(h l).
double bridge(const VectorXd& cold, const VectorXd& hot, double h) {
  double log_ratio = 0.5 * h * (cold.mean() + hot.mean());
  for (int i = 0; i < kBridgeIterations; ++i) {
    // r <- mean over hot of w / (w / r + 1) / mean over cold of 1 / (w / r + 1)
    const VectorXd c = (h * cold.array() - log_ratio).min(700.0);
    const VectorXd o = (h * hot.array() - log_ratio).min(700.0);
    const double top = (o.array().exp() / (1.0 + o.array().exp())).mean();
    const double bottom = (1.0 + c.array().exp()).inverse().mean();
    if (!(top > kNoOverlap) || !(bottom > kNoOverlap)) return numerics::kUndefined;
    const double change = std::log(top / bottom);
    log_ratio += change;
    if (std::abs(change) < 1e-12) break;
  }
  return log_ratio;
}

struct Estimate {
  double bridge = 0.0;
  double integral = 0.0;
  double third_order = 0.0;  // the change of the integral by third cumulants
};

Estimate estimate(const std::vector<double>& beta, const MatrixXd& l) {
  Estimate e;
  const Index replicas = l.cols();
  const Eigen::RowVectorXd mean = l.colwise().mean();
  const MatrixXd centred = l.rowwise() - mean;
  const auto count = static_cast<double>(l.rows());
  const Eigen::RowVectorXd variance = centred.cwiseAbs2().colwise().sum() / (count - 1.0);
  const Eigen::RowVectorXd third = centred.array().cube().colwise().mean();
  for (Index k = 0; k + 1 < replicas; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const double h = beta[i] - beta[i + 1];
    e.bridge += bridge(l.col(k), l.col(k + 1), h);
    const double trapezium = 0.5 * h * (mean[k] + mean[k + 1]);
    const double slope = variance[k + 1] - variance[k];  // at the hot end minus at the cold end
    e.integral += trapezium + h * h / 12.0 * slope;
    const double quintic =
        trapezium + h * h / 10.0 * slope + h * h * h / 120.0 * (third[k] + third[k + 1]);
    e.third_order += quintic - (trapezium + h * h / 12.0 * slope);
  }
  return e;
}

// Draws without block b of `blocks`.
MatrixXd without(const MatrixXd& draws, Index block, Index blocks) {
  const Index begin = block * draws.rows() / blocks;
  const Index end = (block + 1) * draws.rows() / blocks;
  MatrixXd rest(draws.rows() - (end - begin), draws.cols());
  rest << draws.topRows(begin), draws.bottomRows(draws.rows() - end);
  return rest;
}

/// Squared standard error of the mean of independent values; 0 for one.
double squared_error_of_mean(const VectorXd& values) {
  const auto count = static_cast<double>(values.size());
  if (values.size() < 2) return 0.0;
  return (values.array() - values.mean()).square().sum() / (count * (count - 1.0));
}

}  // namespace

TemperedEvidence tempered_evidence(const std::vector<TemperedDraws>& chains) {
  TemperedEvidence result;
  double bridge_variance = 0.0;
  double integral_variance = 0.0;
  double third_order = 0.0;
  const auto count = static_cast<double>(chains.size());
  VectorXd bridge_of(static_cast<Index>(chains.size())), integral_of(bridge_of);
  for (std::size_t c = 0; c < chains.size(); ++c) {
    const TemperedDraws& chain = chains[c];
    const MatrixXd& l = chain.log_likelihoods;
    if (l.rows() < 4 || l.cols() < 2 || !l.allFinite()) {
      return {numerics::kUndefined, numerics::kUndefined, numerics::kUndefined,
              numerics::kUndefined};
    }
    const Estimate whole = estimate(chain.inverse_temperatures, l);
    bridge_of[static_cast<Index>(c)] = whole.bridge;
    integral_of[static_cast<Index>(c)] = whole.integral;
    third_order += whole.third_order / count;
    const Index blocks = std::min(kBlocks, l.rows() / 2);
    VectorXd bridges(blocks);
    VectorXd integrals(blocks);
    for (Index b = 0; b < blocks; ++b) {
      const Estimate rest = estimate(chain.inverse_temperatures, without(l, b, blocks));
      bridges[b] = rest.bridge;
      integrals[b] = rest.integral;
    }
    const double factor =
        static_cast<double>(blocks - 1) / static_cast<double>(blocks) / (count * count);
    bridge_variance += factor * (bridges.array() - bridges.mean()).square().sum();
    integral_variance += factor * (integrals.array() - integrals.mean()).square().sum();
  }
  if (chains.empty()) return result;
  result.bridge = bridge_of.mean();
  result.integral = integral_of.mean();
  result.disagreement = std::abs(result.bridge - result.integral) /
                        std::sqrt(bridge_variance + integral_variance + third_order * third_order);
  const double between = squared_error_of_mean(bridge_of);
  result.chains_agree = !(between > kChainsApart * kChainsApart * bridge_variance);
  result.bridge_error = std::sqrt(std::max(bridge_variance, between));
  integral_variance = std::max(integral_variance, squared_error_of_mean(integral_of));
  result.integral_error = std::sqrt(integral_variance + third_order * third_order);
  return result;
}

}  // namespace headway::posterior
