#include "headway/posterior/evidence.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <optional>

#include "headway/numerics/dense.hpp"
#include "headway/sampling/diagnostics.hpp"

namespace headway::posterior {
namespace {

constexpr Index kDrawsPerDimension = 4;  // needed to fit the proposal's covariance
constexpr int kLargestIterations = 1000;
constexpr double kLargestError = 1.0;  // nats, beyond which the estimate is called unreliable

/// N(mean, L L^T) with the mean and covariance of the draws. It is not widened: the optimal bridge,
/// unlike importance sampling, has a finite variance also where the posterior's tails are heavier.
struct Proposal {
  VectorXd mean;
  numerics::SpdFactor factor;

  [[nodiscard]] double log_density(const VectorXd& x) const {
    MatrixXd z = x - mean;
    factor.half_solve(z);
    return -0.5 * z.squaredNorm() - 0.5 * factor.log_determinant() -
           0.5 * static_cast<double>(mean.size()) * std::log(2.0 * std::numbers::pi);
  }
  [[nodiscard]] VectorXd draw(Rng& rng) const {
    VectorXd z(mean.size());
    rng.fill_normal({z.data(), static_cast<std::size_t>(z.size())});
    return mean + factor.lower().triangularView<Eigen::Lower>() * z;
  }
};

std::optional<Proposal> fit(const MatrixXd& draws) {
  Proposal proposal;
  proposal.mean = draws.rowwise().mean();
  const MatrixXd centred = draws.colwise() - proposal.mean;
  MatrixXd covariance(draws.rows(), draws.rows());
  numerics::rank_update_lower(1.0 / static_cast<double>(draws.cols() - 1), centred,
                              numerics::Transpose::kNo, 0.0, covariance);
  std::optional<numerics::SpdFactor> factor = numerics::SpdFactor::factor(std::move(covariance));
  if (!factor) return std::nullopt;
  proposal.factor = std::move(*factor);
  return proposal;
}

/// Relative variance of the mean of `values`, which are worth `effective` independent draws.
double relative_variance(const VectorXd& values, double effective) {
  const double mean = values.mean();
  return (values.array() - mean).square().mean() / (mean * mean) / effective;
}

/// The optimal bridge (eq. 47; Meng and Wong 1996) by fixed-point iteration. l1, l2: log omega,
/// omega = posterior kernel / proposal, at posterior and at proposal draws. s1, s2, r: rho_1,
/// rho_2 and Z of the equation.
struct Bridge {
  double log_ratio = 0.0;
  double error = 0.0;
};

Bridge iterate_bridge(const VectorXd& l1, const VectorXd& l2, double effective) {
  const double n2 = static_cast<double>(l2.size());
  const double s1 = effective / (effective + n2);
  const double s2 = n2 / (effective + n2);
  const double shift = l1.mean();
  const VectorXd e1 = (l1.array() - shift).min(600.0).max(-600.0).exp();
  const VectorXd e2 = (l2.array() - shift).min(600.0).max(-600.0).exp();
  double r = 1.0;
  VectorXd top;
  VectorXd bottom;
  for (int i = 0; i < kLargestIterations; ++i) {
    top = e2.array() / (s1 * e2.array() + s2 * r);
    bottom = (s1 * e1.array() + s2 * r).inverse();
    const double next = top.mean() / bottom.mean();
    const bool done = std::abs(next - r) <= 1e-12 * next;
    r = next;
    if (done) break;
  }
  return {std::log(r) + shift,
          std::sqrt(relative_variance(top, n2) + relative_variance(bottom, effective))};
}

}  // namespace

Evidence bridge_evidence(const ExactChain& sampled, const MatrixXd& sampled_draws, int chains,
                         double data_count, Rng& rng) {
  ExactChain target = sampled.in_trapezoidal_coordinates();
  MatrixXd draws(target.dimension(), sampled_draws.cols());
  for (Index i = 0; i < draws.cols(); ++i) {
    draws.col(i) = sampled.prior().trapezoidal(sampled_draws.col(i));
  }
  Evidence result;
  result.log_evidence = result.error = std::nan("");
  const Index per_chain = draws.cols() / chains;
  const Index half = per_chain / 2;
  const Index dimension = draws.rows();
  if (half * chains < kDrawsPerDimension * dimension) {
    result.reason =
        fmt::format("{} draws are too few for {} unknowns (at least {} in half of the draws)",
                    draws.cols(), dimension, kDrawsPerDimension * dimension);
    return result;
  }
  MatrixXd first(dimension, half * chains);
  MatrixXd second(dimension, half * chains);
  for (int c = 0; c < chains; ++c) {
    first.middleCols(c * half, half) = draws.middleCols(c * per_chain, half);
    second.middleCols(c * half, half) = draws.middleCols(c * per_chain + per_chain - half, half);
  }
  const std::optional<Proposal> proposal = fit(first);
  if (!proposal) {
    result.reason = "the covariance of the draws is singular";
    return result;
  }
  VectorXd gradient(dimension);
  VectorXd l1(second.cols());
  VectorXd l2(second.cols());
  for (Index i = 0; i < second.cols(); ++i) {
    const VectorXd x = second.col(i);
    l1[i] = target.log_density(x, gradient) - proposal->log_density(x);
    const VectorXd z = proposal->draw(rng);
    l2[i] = target.log_density(z, gradient) - proposal->log_density(z);
  }
  const MatrixXd by_chain = Eigen::Map<const MatrixXd>(l1.data(), half, chains);
  const double ess = sampling::ess_mean(by_chain);
  const double effective = std::isfinite(ess) ? std::min(ess, static_cast<double>(l1.size())) : 1.0;
  const Bridge bridge = iterate_bridge(l1, l2, effective);
  result.log_evidence = bridge.log_ratio - 0.5 * data_count * std::log(2.0 * std::numbers::pi);
  result.error = bridge.error;
  result.reliable = std::isfinite(bridge.error) && bridge.error < kLargestError;
  if (!result.reliable) result.reason = "posterior and Gaussian proposal hardly overlap";
  return result;
}

}  // namespace headway::posterior
