// Error bars on a process whose answer is exact. The stationary AR(1) process x_t = phi x_{t-1} +
// e_t, e ~ N(0, 1), has autocorrelations phi^t. So tau = (1 + phi) / (1 - phi), and the effective
// sample size is n / tau for the mean; for the square, phi^2 takes the place of phi. Deviations of
// estimates are divided by their claimed standard errors. Over many independent repetitions the
// squares of these ratios must average to 1. Error bars that forget the autocorrelation fail.
#include <cmath>
#include <numbers>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/core/rng.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "monte_carlo_errors.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

constexpr int kRepetitions = 1000;
const double kZ = testing::largest_z(20);  // five comparisons at four phi
constexpr Index kDraws = 500;
constexpr Index kChains = 4;

MatrixXd ar1_chains(double phi, std::uint64_t stream) {
  Rng rng(3, StreamPurpose::kTests, stream);
  MatrixXd draws(kDraws, kChains);
  for (Index c = 0; c < kChains; ++c) {
    double x = rng.normal() / std::sqrt(1.0 - phi * phi);
    for (Index i = 0; i < kDraws; ++i) {
      draws(i, c) = x;
      x = phi * x + rng.normal();
    }
  }
  return draws;
}

// Mean over repetitions with its standard error.
struct Average {
  double sum = 0.0, squares = 0.0;
  int count = 0;
  void add(double x) {
    sum += x;
    squares += x * x;
    ++count;
  }
  [[nodiscard]] double mean() const { return sum / count; }
  [[nodiscard]] double error() const {
    return std::sqrt((squares / count - mean() * mean()) / (count - 1));
  }
};

struct Calibration {
  Average mean, sd, quantile, naive;  // squared ratios of deviation and claimed error
  Average ess, ess_of_square;
};

Calibration calibrate(double phi) {
  Calibration result;
  const double sd = 1.0 / std::sqrt(1.0 - phi * phi);
  constexpr double kNormalQuantile90 = 1.2815515655446004;
  for (int r = 0; r < kRepetitions; ++r) {
    const MatrixXd draws = ar1_chains(phi, static_cast<std::uint64_t>(r));
    const QuantityDiagnostics d = diagnose_quantity(draws);
    result.mean.add(std::pow(d.mean / d.mcse_mean, 2));
    result.sd.add(std::pow((d.sd - sd) / testing::mcse_sd(draws), 2));
    const double q = quantile(draws, 0.9) - kNormalQuantile90 * sd;
    result.quantile.add(std::pow(q / testing::mcse_quantile(draws, 0.9), 2));
    result.naive.add(std::pow(d.mean / (d.sd / std::sqrt(1.0 * kDraws * kChains)), 2));
    result.ess.add(ess_mean(draws));
    result.ess_of_square.add(testing::ess_sd(draws));
  }
  return result;
}

}  // namespace

TEST_CASE("effective sample sizes and error bars of AR(1) chains are right, naive ones are not") {
  const double phi = GENERATE(-0.3, 0.0, 0.5, 0.8);
  INFO("phi = " << phi);
  const Calibration c = calibrate(phi);
  const double total = kDraws * kChains;
  const auto ess = [total](double rho) { return total * (1.0 - rho) / (1.0 + rho); };
  // The truncated, monotone sum has a known small bias; 5 per cent besides the sampling error.
  CHECK(std::abs(c.ess.mean() / ess(phi) - 1.0) < 0.05 + kZ * c.ess.error() / ess(phi));
  const double squares = ess(phi * phi);
  CHECK(std::abs(c.ess_of_square.mean() / squares - 1.0) <
        0.05 + kZ * c.ess_of_square.error() / squares);
  // Mean squared ratio 1; at most 10 per cent off for the noise of the error bars themselves.
  for (const Average* ratio : {&c.mean, &c.sd, &c.quantile}) {
    CHECK(std::abs(ratio->mean() - 1.0) < 0.1 + kZ * ratio->error());
  }
  // Error bars that forget the autocorrelation are noticed: their mean squared ratio is tau.
  if (phi != 0.0) CHECK_FALSE(std::abs(c.naive.mean() - 1.0) < 0.1 + kZ * c.naive.error());
}

TEST_CASE("R-hat of chains from one distribution falls to 1, of others does not") {
  Average same;
  for (int r = 0; r < 200; ++r) {
    same.add(rank_normalized_rhat(ar1_chains(0.3, static_cast<std::uint64_t>(r))));
  }
  CHECK(same.mean() < 1.005);
  MatrixXd shifted = ar1_chains(0.3, 0);
  shifted.col(3).array() += 1.0;
  CHECK(rank_normalized_rhat(shifted) > 1.02);
}
