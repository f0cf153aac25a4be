#pragma once

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include "headway/numerics/statistics.hpp"
#include "headway/sampling/diagnostics.hpp"

/// Monte Carlo standard errors that tests judge draws by, and that the library has no use for. The
/// arguments are those of headway/sampling/diagnostics.hpp, and so is [V21].
namespace headway::testing {

inline MatrixXd squared_deviations(const MatrixXd& draws) {
  return (draws.array() - draws.mean()).square().matrix();
}

/// ess_mean of (draw - mean)^2: efficiency for the standard deviation.
inline double ess_sd(const MatrixXd& draws) {
  return sampling::ess_mean(squared_deviations(draws));
}

/// Standard error of the standard deviation by the delta method:
/// sqrt((E[c^4] - E[c^2]^2) / ess_sd / E[c^2]) / 2, c = draw - mean.
inline double mcse_sd(const MatrixXd& draws) {
  const MatrixXd squares = squared_deviations(draws);
  const double second = squares.mean();
  const double fourth = squares.array().square().mean();
  return 0.5 * std::sqrt((fourth - second * second) / ess_sd(draws) / second);
}

/// Standard error of a quantile: half the distance between the draws at the 16 and 84 per cent
/// points of Beta(S p + 1, S (1 - p) + 1), S = ess_quantile, [V21] section 4.4.
inline double mcse_quantile(const MatrixXd& draws, double probability) {
  const double ess = sampling::ess_quantile(draws, probability);
  if (!(ess > 0.0)) return numerics::kUndefined;
  std::vector<double> sorted(draws.data(), draws.data() + draws.size());
  std::sort(sorted.begin(), sorted.end());
  const double a = ess * probability + 1.0;
  const double b = ess * (1.0 - probability) + 1.0;
  const double size = static_cast<double>(sorted.size());
  constexpr double kMinusOneSigma = 0.1586553;
  const double low = boost::math::ibeta_inv(a, b, kMinusOneSigma) * size - 1.0;
  const double high = boost::math::ibeta_inv(a, b, 1.0 - kMinusOneSigma) * size - 1.0;
  const auto first = static_cast<std::size_t>(std::floor(std::max(low, 0.0)));
  const auto last = static_cast<std::size_t>(std::ceil(std::min(high, size - 1.0)));
  return 0.5 * (sorted[last] - sorted[first]);
}

}  // namespace headway::testing
