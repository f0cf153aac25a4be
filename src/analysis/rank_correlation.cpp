#include "headway/analysis/rank_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "headway/numerics/statistics.hpp"

namespace headway::analysis {
namespace {

constexpr double kRounding = 1e-12;  // values of rho this close count as equal

/// x and y without the pairs that hold a NaN.
std::pair<std::vector<double>, std::vector<double>> defined_pairs(const std::vector<double>& x,
                                                                  const std::vector<double>& y) {
  std::pair<std::vector<double>, std::vector<double>> pairs;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (std::isnan(x[i]) || std::isnan(y[i])) continue;
    pairs.first.push_back(x[i]);
    pairs.second.push_back(y[i]);
  }
  return pairs;
}

/// Average ranks, centred and divided by their norm; empty when all are equal.
std::vector<double> unit_ranks(const std::vector<double>& values) {
  std::vector<double> ranks = numerics::average_ranks(values);
  const double middle = 0.5 * (static_cast<double>(ranks.size()) + 1.0);
  double squares = 0.0;
  for (double& rank : ranks) {
    rank -= middle;
    squares += rank * rank;
  }
  if (squares == 0.0) return {};
  for (double& rank : ranks) rank /= std::sqrt(squares);
  return ranks;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double exact_p_value(const std::vector<double>& a, const std::vector<double>& b, double observed) {
  std::vector<std::size_t> order(b.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double hits = 0.0;
  double count = 0.0;
  do {
    double rho = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) rho += a[i] * b[order[i]];
    if (std::abs(rho) >= observed) hits += 1.0;
    count += 1.0;
  } while (std::next_permutation(order.begin(), order.end()));
  return hits / count;
}

}  // namespace

double spearman(const std::vector<double>& x, const std::vector<double>& y) {
  const auto [a, b] = defined_pairs(x, y);
  if (a.size() < 2) return numerics::kUndefined;
  const std::vector<double> u = unit_ranks(a);
  const std::vector<double> v = unit_ranks(b);
  if (u.empty() || v.empty()) return numerics::kUndefined;
  return std::clamp(dot(u, v), -1.0, 1.0);
}

double kendall(const std::vector<double>& x, const std::vector<double>& y) {
  const auto [a, b] = defined_pairs(x, y);
  double difference = 0.0;  // concordant - discordant pairs
  double untied_x = 0.0;
  double untied_y = 0.0;
  const auto sign = [](double d) { return static_cast<double>((d > 0.0) - (d < 0.0)); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double sx = sign(a[i] - a[j]);
      const double sy = sign(b[i] - b[j]);
      difference += sx * sy;
      untied_x += std::abs(sx);
      untied_y += std::abs(sy);
    }
  }
  if (untied_x == 0.0 || untied_y == 0.0) return numerics::kUndefined;
  return difference / std::sqrt(untied_x * untied_y);
}

double permutation_p_value(const std::vector<double>& x, const std::vector<double>& y, int draws,
                           Rng& rng) {
  const auto [a, b] = defined_pairs(x, y);
  const double rho = spearman(a, b);
  if (std::isnan(rho)) return numerics::kUndefined;
  const double observed = std::abs(rho) - kRounding;
  const std::vector<double> u = unit_ranks(a);
  std::vector<double> v = unit_ranks(b);
  if (v.size() <= kExactPermutations) return exact_p_value(u, v, observed);
  double hits = 0.0;
  for (int draw = 0; draw < draws; ++draw) {
    numerics::shuffle(v, rng);
    if (std::abs(dot(u, v)) >= observed) hits += 1.0;
  }
  return (1.0 + hits) / (1.0 + draws);
}

MatrixXd resampled_means(const MatrixXd& effects, int resamples, Rng& rng) {
  const Index examples = effects.rows();
  if (examples == 0) return MatrixXd(0, effects.cols());
  MatrixXd means(resamples, effects.cols());
  VectorXd counts(examples);
  for (int resample = 0; resample < resamples; ++resample) {
    counts.setZero();
    for (Index i = 0; i < examples; ++i) {
      counts[static_cast<Index>(rng.uniform_index(static_cast<std::uint64_t>(examples)))] += 1.0;
    }
    // Summed before the division, so that equal sums of 0 and 1 stay equal means.
    means.row(resample) =
        (effects.transpose() * counts).transpose() / static_cast<double>(examples);
  }
  return means;
}

Bootstrap bootstrap_spearman(const std::vector<double>& score, const MatrixXd& means) {
  std::vector<double> found;
  for (Index row = 0; row < means.rows(); ++row) {
    const VectorXd effect = means.row(row);
    const double rho = spearman(score, {effect.data(), effect.data() + effect.size()});
    if (!std::isnan(rho)) found.push_back(rho);
  }
  if (found.empty()) return {numerics::kUndefined, numerics::kUndefined, numerics::kUndefined};
  std::sort(found.begin(), found.end());
  return {numerics::moments(found).deviation(), numerics::quantile_of_sorted(found, 0.025),
          numerics::quantile_of_sorted(found, 0.975)};
}

RankStability rank_stability(const std::vector<double>& values, const MatrixXd& draws, int k) {
  RankStability result{numerics::kUndefined, numerics::kUndefined, k};
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (std::any_of(values.begin(), values.end(), is_nan) || draws.rows() == 0) return result;
  const auto largest = [k](const std::vector<double>& of) {
    std::vector<std::size_t> order(of.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return of[a] > of[b]; });
    order.resize(static_cast<std::size_t>(k));
    std::sort(order.begin(), order.end());
    return order;
  };
  const std::vector<std::size_t> top = largest(values);
  double tau = 0.0;
  double shared = 0.0;
  double counted = 0.0;
  for (Index row = 0; row < draws.rows(); ++row) {
    const VectorXd drawn = draws.row(row);
    const std::vector<double> again(drawn.data(), drawn.data() + drawn.size());
    const double found = kendall(values, again);
    if (std::isnan(found) || drawn.hasNaN()) continue;
    std::vector<std::size_t> both;
    const std::vector<std::size_t> other = largest(again);
    std::set_intersection(top.begin(), top.end(), other.begin(), other.end(),
                          std::back_inserter(both));
    tau += found;
    shared += static_cast<double>(both.size()) / k;
    counted += 1.0;
  }
  if (counted == 0.0) return result;
  return {tau / counted, shared / counted, k};
}

}  // namespace headway::analysis
