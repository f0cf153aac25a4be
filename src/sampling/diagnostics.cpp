#include "headway/sampling/diagnostics.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

#include "headway/numerics/statistics.hpp"

namespace headway::sampling {
namespace {

using numerics::moments;
using numerics::quantile_of_sorted;

using Draws = Eigen::Ref<const MatrixXd>;
constexpr Index kFewestDraws = 4;
// A relative spread below this is rounding of the values themselves, and no variation.
constexpr double kRounding = 4.0 * std::numeric_limits<double>::epsilon();
// By default Boost computes in long double. That is several times slower, and ranks do not have so
// many digits.
using DoublePolicy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

bool is_usable(const Draws& draws) {
  return draws.rows() >= kFewestDraws && draws.cols() >= 1 && draws.allFinite();
}

bool is_constant(const Draws& draws) {
  const double low = draws.minCoeff();
  const double high = draws.maxCoeff();
  return high - low <= kRounding * std::max(std::abs(low), std::abs(high));
}

MatrixXd split_chains(const Draws& draws) {
  const Index half = draws.rows() / 2;
  MatrixXd halves(half, 2 * draws.cols());
  for (Index c = 0; c < draws.cols(); ++c) {
    halves.col(2 * c) = draws.col(c).head(half);
    halves.col(2 * c + 1) = draws.col(c).tail(half);
  }
  return halves;
}

// Phi^-1(p), accurate in both tails.
double normal_quantile(double p) {
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2.0 * p, DoublePolicy());
}

// z = Phi^-1((r - 3/8) / (S + 1/4)), r the rank among all S values (ties share their mean rank),
// [V21] equation 14.
MatrixXd rank_normalize(const MatrixXd& values) {
  const std::span<const double> all(values.data(), static_cast<std::size_t>(values.size()));
  const std::vector<double> ranks = numerics::average_ranks(all);
  const double count = static_cast<double>(values.size());
  MatrixXd scores(values.rows(), values.cols());
  std::transform(ranks.begin(), ranks.end(), scores.data(),
                 [count](double rank) { return normal_quantile((rank - 0.375) / (count + 0.25)); });
  return scores;
}

double sample_variance(const VectorXd& values) { return moments(values).variance(); }

// [V21] equations 1-4 on chains that are already split.
double rhat_of(const MatrixXd& chains) {
  const double n = static_cast<double>(chains.rows());
  const VectorXd means = chains.colwise().mean();
  double within = 0.0;
  for (Index c = 0; c < chains.cols(); ++c) within += sample_variance(chains.col(c));
  within /= static_cast<double>(chains.cols());
  const double between = n * sample_variance(means);
  return std::sqrt((n - 1.0) / n + between / (n * within));
}

// Autocovariances averaged over chains, one lag at a time: a well mixed chain needs only a few
// lags.
class MeanAutocovariance {
 public:
  explicit MeanAutocovariance(const MatrixXd& chains)
      : centred_(chains.rowwise() - chains.colwise().mean()) {}
  [[nodiscard]] double at(Index lag) const {
    const Index n = centred_.rows();
    double sum = 0.0;
    for (Index c = 0; c < centred_.cols(); ++c) {
      sum += centred_.col(c).head(n - lag).dot(centred_.col(c).tail(n - lag));
    }
    return sum / static_cast<double>(n * centred_.cols());
  }

 private:
  MatrixXd centred_;
};

// Replaces pair sums that grow by the mean of the pair before: Geyer's initial monotone sequence,
// [V21] section 3.2.
void make_monotone(std::vector<double>& rho, Index last) {
  for (Index t = 1; t <= last - 2; t += 2) {
    const auto i = static_cast<std::size_t>(t);
    const double before = rho[i - 1] + rho[i];
    if (rho[i + 1] + rho[i + 2] > before) rho[i + 1] = rho[i + 2] = 0.5 * before;
  }
}

// Effective sample size of chains that are already split, [V21] equations 10-13.
double ess_of(const MatrixXd& chains) {
  const Index n = chains.rows();
  const double draws = static_cast<double>(n);
  const MeanAutocovariance autocovariance(chains);
  const double within = autocovariance.at(0) * draws / (draws - 1.0);
  double var_plus = within * (draws - 1.0) / draws;
  if (chains.cols() > 1) var_plus += sample_variance(chains.colwise().mean());
  const auto correlation = [&](Index lag) {  // [V21] equation 10
    return 1.0 - (within - autocovariance.at(lag)) / var_plus;
  };
  std::vector<double> rho{1.0, correlation(1)};
  rho.reserve(static_cast<std::size_t>(n) + 2);
  double even = rho[0];
  double odd = rho[1];
  Index t = 1;
  for (; t < n - 3 && even + odd > 0.0; t += 2) {  // Geyer's initial positive sequence
    even = correlation(t + 1);
    odd = correlation(t + 2);
    const bool positive = even + odd >= 0.0;
    rho.push_back(positive ? even : 0.0);
    rho.push_back(positive ? odd : 0.0);
  }
  const Index last = t - 2;
  rho.resize(static_cast<std::size_t>(std::max<Index>(t, last + 2)) + 1, 0.0);
  const auto tail = static_cast<std::size_t>(last + 1);
  if (even > 0.0)
    rho[tail] = even;  // the even lag still counts, which matters for antithetic chains
  make_monotone(rho, last);
  const double sum = std::accumulate(rho.begin(), rho.begin() + last + 1, 0.0);
  const double total = draws * static_cast<double>(chains.cols());
  const double tau = std::max(-1.0 + 2.0 * sum + rho[tail], 1.0 / std::log10(total));
  return total / tau;
}

MatrixXd folded(const MatrixXd& values) {
  return (values.array() - quantile(values, 0.5)).abs().matrix();
}

std::vector<double> sorted_copy(const Draws& draws) {
  std::vector<double> sorted;
  sorted.reserve(static_cast<std::size_t>(draws.size()));
  for (Index c = 0; c < draws.cols(); ++c) {
    for (Index i = 0; i < draws.rows(); ++i) sorted.push_back(draws(i, c));
  }
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double ess_below(const Draws& draws, double threshold) {
  const MatrixXd indicator = (draws.array() <= threshold).cast<double>();
  return is_constant(indicator) ? numerics::kUndefined : ess_of(split_chains(indicator));
}

}  // namespace

double bulk_rhat(const Draws& draws) {
  if (!is_usable(draws) || is_constant(draws)) return numerics::kUndefined;
  return rhat_of(rank_normalize(split_chains(draws)));
}

double folded_rhat(const Draws& draws) {
  if (!is_usable(draws) || is_constant(draws)) return numerics::kUndefined;
  const MatrixXd distance = folded(split_chains(draws));
  return is_constant(distance) ? numerics::kUndefined : rhat_of(rank_normalize(distance));
}

double rank_normalized_rhat(const Draws& draws) {
  // fmax: a symmetric two-valued quantity has no folded spread, its bulk value still counts.
  return std::fmax(bulk_rhat(draws), folded_rhat(draws));
}

double ess_mean(const Draws& draws) {
  if (!is_usable(draws) || is_constant(draws)) return numerics::kUndefined;
  return ess_of(split_chains(draws));
}

double ess_bulk(const Draws& draws) {
  if (!is_usable(draws) || is_constant(draws)) return numerics::kUndefined;
  return ess_of(rank_normalize(split_chains(draws)));
}

double ess_quantile(const Draws& draws, double probability) {
  if (!is_usable(draws) || is_constant(draws)) return numerics::kUndefined;
  return ess_below(draws, quantile(draws, probability));
}

double ess_tail(const Draws& draws) {
  return std::fmin(ess_quantile(draws, 0.05), ess_quantile(draws, 0.95));
}

double quantile(const Draws& draws, double probability) {
  if (draws.size() == 0 || draws.hasNaN() || !(probability >= 0.0 && probability <= 1.0)) {
    return numerics::kUndefined;
  }
  return quantile_of_sorted(sorted_copy(draws), probability);
}

double mcse_mean(const Draws& draws) {
  if (!is_usable(draws) || is_constant(draws)) return numerics::kUndefined;
  return std::sqrt(moments(draws).variance() / ess_mean(draws));
}

double energy_bfmi(std::span<const double> energies) {
  const Eigen::Map<const VectorXd> energy(energies.data(), static_cast<Index>(energies.size()));
  if (!is_usable(energy) || is_constant(energy)) return numerics::kUndefined;
  const Index n = energy.size();
  return (energy.tail(n - 1) - energy.head(n - 1)).squaredNorm() / moments(energy).squares;
}

void add(EnergySums& sum, double energy) {
  if (sum.count > 0) sum.steps += (energy - sum.last) * (energy - sum.last);
  ++sum.count;
  const double off = energy - sum.mean;
  sum.mean += off / static_cast<double>(sum.count);
  sum.squares += off * (energy - sum.mean);
  sum.last = energy;
}

double bfmi_of_sums(const EnergySums& sum) {
  const double rounding = kRounding * sum.mean;
  const bool vary = sum.squares > static_cast<double>(sum.count) * rounding * rounding;
  return sum.count >= kFewestDraws && vary ? sum.steps / sum.squares : numerics::kUndefined;
}

QuantityDiagnostics::QuantityDiagnostics()
    : mean(numerics::kUndefined),
      sd(numerics::kUndefined),
      mcse_mean(numerics::kUndefined),
      rhat(numerics::kUndefined),
      ess_bulk(numerics::kUndefined),
      ess_tail(numerics::kUndefined),
      constant(false),
      not_finite(false) {}

QuantityDiagnostics diagnose_quantity(const Draws& draws) {
  QuantityDiagnostics result;
  if (draws.size() == 0) return result;
  result.not_finite = !draws.allFinite();
  if (result.not_finite) return result;
  const numerics::Moments spread = moments(draws);
  result.mean = spread.mean;
  result.sd = spread.deviation();
  result.constant = is_constant(draws);
  if (!is_usable(draws) || result.constant) return result;
  const MatrixXd halves = split_chains(draws);
  result.mcse_mean = result.sd / std::sqrt(ess_of(halves));
  const MatrixXd scores = rank_normalize(halves);
  result.rhat = std::fmax(rhat_of(scores), folded_rhat(draws));
  result.ess_bulk = ess_of(scores);
  const std::vector<double> sorted = sorted_copy(draws);
  result.ess_tail = std::fmin(ess_below(draws, quantile_of_sorted(sorted, 0.05)),
                              ess_below(draws, quantile_of_sorted(sorted, 0.95)));
  return result;
}

}  // namespace headway::sampling
