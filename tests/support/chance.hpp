// Bounds that right numbers pass but once in a million runs. A chain's draws change when rounding
// does, so on another processor a fixed seed is another seed.
#pragma once

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

namespace headway::testing {

inline constexpr double kChance = 1e-6;

/// The largest of |z| over `comparisons` standard normal z, whether they are independent or not
/// (Bonferroni).
inline double largest_z(double comparisons) {
  return boost::math::quantile(complement(boost::math::normal(), 0.5 * kChance / comparisons));
}

/// The same if z was divided by a standard error that is estimated from a chain. Where
/// autocorrelations end within 10 of some 8000 draws, its own error is sqrt(2 * 20 / 8000) / 2 =
/// 3.5 %. Ten per cent are three of these.
inline double largest_chain_z(double comparisons) { return 1.1 * largest_z(comparisons); }

/// Smallest and largest mean of `count` squares of independent standard normal z.
struct MeanSquare {
  double least, most;
};
inline MeanSquare mean_square_of_z(double count) {
  const boost::math::chi_squared squares(count);
  return {boost::math::quantile(squares, 0.5 * kChance) / count,
          boost::math::quantile(complement(squares, 0.5 * kChance)) / count};
}

/// The largest R-hat of `quantities` whose chains agree and have `effective` draws in all, of the
/// bulk or of the tails, whichever are fewer. The mean of each half of a chain, m = 2 chains in
/// number, has the variance m / effective of the quantity's own. So R-hat^2 - 1 is at most
/// chi^2_{m-1} / (m - 1) m / effective. Twice that is allowed, since R-hat also judges distances
/// from the median, whose number of effective draws is somewhat smaller or larger.
inline double largest_rhat(double effective, int chains, double quantities) {
  const double halves = 2.0 * chains;
  const boost::math::chi_squared squares(halves - 1.0);
  const double most = boost::math::quantile(complement(squares, kChance / quantities));
  return std::sqrt(1.0 + 2.0 * most / (halves - 1.0) * halves / effective);
}

}  // namespace headway::testing
