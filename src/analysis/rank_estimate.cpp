#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "headway/analysis/head_ranking.hpp"
#include "headway/analysis/head_scores.hpp"
#include "headway/analysis/rank_correlation.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/statistics.hpp"

namespace headway::analysis {

using numerics::listed;

namespace {

constexpr double kSlopeSpread = 0.5;                                                   // of b
constexpr std::array kSpreads = {0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.5};  // of tau
constexpr double kUsualSpread = 0.8, kSpreadOfSpreads = 0.7;  // log tau ~ normal(log 0.8, 0.7^2)
constexpr double kSmallestShift = 0.05;                       // of D_h, in units of s
constexpr double kOwnShare = 0.5;  // of the pairs' covariance, that is the very readout's own
constexpr Index kDraws = 4000;
constexpr int kSplits = 200;                                  // into halves
constexpr std::uint64_t kDrawsStream = 4, kHalvesStream = 5;  // of kResampledExamples
constexpr double kErrorsApart = 2.0;
constexpr double kTiniest = std::numeric_limits<double>::min();

/// The posterior at one tau.
struct Component {
  double log_weight = 0.0;
  VectorXd mean, gain;
  MatrixXd covariance;
};

/// Positive definite also where heads change nothing.
numerics::SpdFactor factor_of(MatrixXd matrix) {
  matrix.diagonal().array() += std::max(1e-12 * matrix.trace(), kTiniest);
  std::optional<numerics::SpdFactor> factor = numerics::SpdFactor::factor(std::move(matrix));
  if (factor) return *std::move(factor);
  throw Error(ErrorKind::kInternal, "covariance of removals: not positive definite");
}

Component component_at(double spread, const MatrixXd& prior, const MatrixXd& noise,
                       const VectorXd& measured, const VectorXd& expected) {
  const numerics::SpdFactor root = factor_of(prior + noise);
  MatrixXd seen = measured - expected, pull = prior;
  root.half_solve(seen);
  root.half_solve(pull);
  const double usual = std::log(spread / kUsualSpread) / kSpreadOfSpreads;
  Component found;
  found.log_weight = -0.5 * (seen.squaredNorm() + root.log_determinant() + usual * usual);
  found.mean = expected + pull.transpose() * seen.col(0);
  found.covariance = prior - pull.transpose() * pull;
  root.half_solve_transposed(pull);
  found.gain = pull.diagonal();
  return found;
}

/// [draws, H] of the mixture, with what is the very readout's own.
MatrixXd draws_of(const std::vector<Component>& components, const VectorXd& weights,
                  const MatrixXd& own, std::uint64_t seed) {
  std::vector<MatrixXd> roots;
  for (const Component& one : components) {
    const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(one.covariance + own, true);
    roots.emplace_back(eigen.vectors * eigen.values.cwiseMax(0.0).cwiseSqrt().asDiagonal());
  }
  Rng rng(seed, StreamPurpose::kResampledExamples, kDrawsStream);
  MatrixXd draws(kDraws, own.rows());
  VectorXd z(own.rows());
  for (Index d = 0; d < kDraws; ++d) {
    double left = rng.uniform();
    Index chosen = 0;
    while (chosen + 1 < weights.size() && left >= weights[chosen]) left -= weights[chosen++];
    for (double& x : z) x = rng.normal();
    const auto at = static_cast<std::size_t>(chosen);
    draws.row(d) = (components[at].mean + roots[at] * z).transpose();
  }
  return draws;
}

}  // namespace

RankEstimate combine(const RemovalChanges& changes, std::uint64_t seed) {
  const VectorXd measured = changes.mean();
  const MatrixXd noise = changes.covariance();
  const VectorXd& expected = changes.belief;
  const double scale = std::max(changes.shift.mean(), kTiniest);
  VectorXd moves = (changes.shift / scale).cwiseMax(kSmallestShift);
  moves /= moves.mean();
  MatrixXd shared = kSlopeSpread * kSlopeSpread * expected * expected.transpose();
  shared.array() += scale * scale;
  std::vector<Component> components;
  double largest = -std::numeric_limits<double>::infinity();
  for (const double spread : kSpreads) {
    MatrixXd prior = shared;
    prior.diagonal() += spread * spread * scale * scale * moves;
    components.push_back(component_at(spread, prior, noise, measured, expected));
    largest = std::max(largest, components.back().log_weight);
  }
  VectorXd weights(static_cast<Index>(components.size()));
  for (std::size_t i = 0; i < components.size(); ++i) {
    weights[static_cast<Index>(i)] = std::exp(components[i].log_weight - largest);
  }
  weights /= weights.sum();
  RankEstimate out{VectorXd::Zero(measured.size()), {}, 0.0, VectorXd::Zero(measured.size())};
  for (std::size_t i = 0; i < components.size(); ++i) {
    const double weight = weights[static_cast<Index>(i)];
    out.mean += weight * components[i].mean;
    out.reliance += weight * components[i].gain;
    out.spread += weight * kSpreads.at(i);
  }
  const MatrixXd own = kOwnShare * changes.pairs * changes.pairs.transpose();
  out.draws = draws_of(components, weights, own, seed);
  return out;
}

std::array<VectorXd, 2> RankEstimate::interval(double share) const {
  std::array<VectorXd, 2> out = {VectorXd(draws.cols()), VectorXd(draws.cols())};
  for (Index h = 0; h < draws.cols(); ++h) {
    std::vector<double> sorted = listed(draws.col(h));
    std::sort(sorted.begin(), sorted.end());
    out[0][h] = numerics::quantile_of_sorted(sorted, 0.5 * (1.0 - share));
    out[1][h] = numerics::quantile_of_sorted(sorted, 0.5 * (1.0 + share));
  }
  return out;
}

VectorXd RankEstimate::deviation() const {
  return ((draws.rowwise() - draws.colwise().mean()).colwise().squaredNorm() /
          static_cast<double>(draws.rows()))
      .cwiseSqrt()
      .transpose();
}

VectorXd among_cheapest(const MatrixXd& draws, int k) {
  VectorXd hits = VectorXd::Zero(draws.cols());
  const auto places = std::min<Index>(k, draws.cols());
  for (Index d = 0; d < draws.rows() && places > 0; ++d) {
    std::vector<double> costs = listed(draws.row(d).transpose());
    std::nth_element(costs.begin(), costs.begin() + (places - 1), costs.end());
    const double last = costs[static_cast<std::size_t>(places - 1)];
    const auto below = (draws.row(d).array() < last).cast<double>();
    const auto equal = (draws.row(d).array() == last).cast<double>();
    const double share = (static_cast<double>(places) - below.sum()) / equal.sum();
    hits += (below + share * equal).matrix().transpose();
  }
  return hits / static_cast<double>(draws.rows());
}

std::vector<int> shared_ranks(const MatrixXd& draws, double share) {
  const std::vector<int> order = ascending_order(listed(draws.colwise().mean().transpose()));
  std::vector<int> ranks(order.size(), 1);
  int first = order.front(), rank = 1;
  for (std::size_t place = 1; place < order.size(); ++place) {
    const int head = order[place];
    const auto above = (draws.col(head).array() > draws.col(first).array()).count();
    if (static_cast<double>(above) >= share * static_cast<double>(draws.rows())) {
      first = head;
      rank = static_cast<int>(place) + 1;
    }
    ranks[static_cast<std::size_t>(head)] = rank;
  }
  return ranks;
}

RankCeiling rank_ceiling(const MatrixXd& rises, std::uint64_t seed) {
  Rng rng(seed, StreamPurpose::kResampledExamples, kHalvesStream);
  const Index half = rises.cols() / 2;
  std::vector<double> agreements;
  for (int split = 0; split < kSplits; ++split) {
    std::vector<Index> order(static_cast<std::size_t>(rises.cols()));
    std::iota(order.begin(), order.end(), Index{0});
    numerics::shuffle(order, rng);
    VectorXd first = VectorXd::Zero(rises.rows()), second = first;
    for (Index i = 0; i < rises.cols(); ++i) {
      (i < half ? first : second) += rises.col(order[static_cast<std::size_t>(i)]);
    }
    const double agreement = spearman(listed(first / static_cast<double>(half)),
                                      listed(second / static_cast<double>(rises.cols() - half)));
    if (!std::isnan(agreement)) agreements.push_back(agreement);
  }
  if (agreements.empty()) return {numerics::kUndefined, numerics::kUndefined, numerics::kUndefined};
  const Eigen::Map<const VectorXd> found(agreements.data(), static_cast<Index>(agreements.size()));
  const double mean = found.mean();
  return {mean, std::sqrt((found.array() - mean).square().mean()),
          mean > 0.0 ? std::sqrt(2.0 * mean / (1.0 + mean)) : 0.0};
}

double told_apart(const MatrixXd& rises) {
  double apart = 0.0, pairs = 0.0;
  for (Index one = 0; one < rises.rows(); ++one) {
    for (Index other = 0; other < one; ++other) {
      const numerics::Moments difference =
          numerics::moments(VectorXd((rises.row(one) - rises.row(other)).transpose()));
      pairs += 1.0;
      apart += std::abs(difference.mean) > kErrorsApart * difference.standard_error() ? 1.0 : 0.0;
    }
  }
  return apart / pairs;  // NaN for one head
}

}  // namespace headway::analysis
