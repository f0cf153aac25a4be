#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/types.hpp"

/// Statistics of lists of numbers: mean and spread, quantiles, ranks, random orders.
namespace headway::numerics {

/// Stands for a number that is not defined or was not computed; null in JSON.
inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// The entries of an Eigen vector as a list, which the functions here take.
inline std::vector<double> listed(const VectorXd& values) { return {values.begin(), values.end()}; }

/// Mean and spread of n values. All NaN for none; spreads are NaN for one.
struct Moments {
  double count = 0.0;
  double mean = kUndefined;
  double squares = kUndefined;  ///< sum of (x - mean)^2

  /// squares / (n - 1): unbiased for independent values.
  [[nodiscard]] double variance() const {
    return count > 1.0 ? squares / (count - 1.0) : kUndefined;
  }
  [[nodiscard]] double deviation() const { return std::sqrt(variance()); }
  /// Standard error of the mean of independent values: deviation / sqrt(n).
  [[nodiscard]] double standard_error() const { return std::sqrt(variance() / count); }
};

/// Two passes, both summed in index order.
Moments moments(std::span<const double> values);

/// The same for an Eigen vector or matrix, summed by Eigen's vectorised reductions. That is faster,
/// and rounds differently than index order.
template <typename Derived>
Moments moments(const Eigen::MatrixBase<Derived>& values) {
  if (values.size() == 0) return {};
  const double mean = values.mean();
  return {static_cast<double>(values.size()), mean, (values.array() - mean).square().sum()};
}

/// The quantile of values that are already sorted (rising), interpolated linearly between the two
/// next to place `probability` (n - 1), probability in [0, 1]; between equal values it is their
/// value. NaN for no values.
double quantile_of_sorted(std::span<const double> sorted, double probability);

/// Ranks 1, 2, ... of the values in rising order; equal values share the mean of their ranks. Cost
/// O(n log n).
std::vector<double> average_ranks(std::span<const double> values);

/// Puts `values` (a vector, an array) into a uniformly random order (Fisher and Yates):
/// values.size() - 1 draws of Rng::uniform_index, for the last place first.
template <typename Values>
void shuffle(Values& values, Rng& rng) {
  for (std::size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[rng.uniform_index(left)]);
  }
}

}  // namespace headway::numerics
