// Scores of counts against their probabilities, as standard normal deviates.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace headway::testing {

// Pearson's chi-squared of counts that should be uniform, made normal by the cube root of Wilson
// and Hilferty (1931). Large means not uniform.
inline double uniformity_z(const std::vector<double>& counts) {
  double total = 0.0;
  for (const double count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double chi_squared = 0.0;
  for (const double count : counts) {
    chi_squared += (count - expected) * (count - expected) / expected;
  }
  const double degrees = static_cast<double>(counts.size()) - 1.0;
  const double spread = 2.0 / (9.0 * degrees);
  return (std::cbrt(chi_squared / degrees) - (1.0 - spread)) / std::sqrt(spread);
}

// How many standard errors `hits` of `trials` are from the probability p, 0 < p < 1.
inline double binomial_z(double hits, double trials, double p) {
  return (hits / trials - p) / std::sqrt(p * (1.0 - p) / trials);
}

}  // namespace headway::testing
