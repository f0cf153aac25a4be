#include "headway/posterior/tempered_evidence.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace headway;
using Catch::Matchers::WithinRel;
using posterior::tempered_evidence;
using posterior::TemperedDraws;
using posterior::TemperedEvidence;

namespace {

/// The prior makes the likelihood 1 or 9 with equal probability, so that Z = 5. At inverse
/// temperatures 1, 1/2 and 0 it is 9 in 18, 15 and 10 of 20 draws; every 20 rows have these shares.
TemperedDraws exact_shares(Index rows) {
  const std::vector<Index> nines = {18, 15, 10};
  TemperedDraws draws{{1.0, 0.5, 0.0}, MatrixXd(rows, 3)};
  for (Index k = 0; k < 3; ++k) {
    for (Index i = 0; i < rows; ++i) {
      draws.log_likelihoods(i, k) =
          i % 20 < nines[static_cast<std::size_t>(k)] ? std::log(9.0) : 0.0;
    }
  }
  return draws;
}

TemperedDraws noisy(Index rows, unsigned seed) {
  std::mt19937 bits(seed);
  const auto uniform = [&bits] { return static_cast<double>(bits()) / 4294967296.0; };
  TemperedDraws draws{{1.0, 0.3, 0.0}, MatrixXd(rows, 3)};
  for (Index k = 0; k < 3; ++k) {
    for (Index i = 0; i < rows; ++i) {
      draws.log_likelihoods(i, k) = std::log(uniform() + 0.01) - static_cast<double>(k);
    }
  }
  return draws;
}

/// Draws without rows [begin, end).
TemperedDraws without(const TemperedDraws& draws, Index begin, Index end) {
  const MatrixXd& l = draws.log_likelihoods;
  TemperedDraws rest{draws.inverse_temperatures, MatrixXd(l.rows() - (end - begin), l.cols())};
  rest.log_likelihoods << l.topRows(begin), l.bottomRows(l.rows() - end);
  return rest;
}

double jackknife(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0.0, squares = 0.0;
  for (const double v : values) mean += v / count;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return (count - 1.0) / count * squares;
}

bool all_undefined(const TemperedEvidence& e) {
  return std::isnan(e.bridge) && std::isnan(e.bridge_error) && std::isnan(e.integral) &&
         std::isnan(e.integral_error);
}

}  // namespace

TEST_CASE("bridge sampling of draws with exact shares gives the exact evidence without error") {
  const TemperedEvidence e = tempered_evidence({exact_shares(200)});
  CHECK_THAT(e.bridge, WithinRel(std::log(5.0), 1e-10));
  CHECK(e.bridge_error < 1e-9);
}

TEST_CASE("the integral is that of the cubic with the means and variances of the draws") {
  const TemperedEvidence e = tempered_evidence({exact_shares(200)});
  const double l = std::log(9.0);
  const double bessel = 200.0 / 199.0;
  const std::vector<double> p = {0.9, 0.75, 0.5};
  double integral = 0.0, third_order = 0.0;
  for (std::size_t k = 0; k < 2; ++k) {
    const double h = 0.5;
    const auto variance = [&](double q) { return bessel * l * l * q * (1.0 - q); };
    const auto third = [&](double q) { return l * l * l * q * (1.0 - q) * (1.0 - 2.0 * q); };
    const double slope = variance(p[k + 1]) - variance(p[k]);
    integral += h * l * (p[k] + p[k + 1]) / 2.0 + h * h * slope / 12.0;
    third_order += h * h * slope / 60.0 + h * h * h * (third(p[k]) + third(p[k + 1])) / 120.0;
  }
  CHECK_THAT(e.integral, WithinRel(integral, 1e-12));
  // Every block of the jackknife holds the same draws, so that third cumulants alone remain.
  CHECK_THAT(e.integral_error, WithinRel(std::abs(third_order), 1e-9));
  CHECK(std::abs(e.integral - std::log(5.0)) < 0.01);
}

TEST_CASE("the error of the bridge is a jackknife over ten blocks of draws, or fewer of two") {
  for (const auto& [rows, blocks] :
       std::vector<std::pair<Index, Index>>{{57, 10}, {7, 3}, {4, 2}}) {
    const TemperedDraws draws = noisy(rows, 3);
    std::vector<double> bridges;
    for (Index b = 0; b < blocks; ++b) {
      const TemperedDraws rest = without(draws, b * rows / blocks, (b + 1) * rows / blocks);
      if (rest.log_likelihoods.rows() >= 4) {
        bridges.push_back(tempered_evidence({rest}).bridge);
        continue;
      }
      // Each draw twice: the same means, and enough draws to be taken.
      TemperedDraws twice{rest.inverse_temperatures, MatrixXd(2 * rest.log_likelihoods.rows(), 3)};
      twice.log_likelihoods << rest.log_likelihoods, rest.log_likelihoods;
      bridges.push_back(tempered_evidence({twice}).bridge);
    }
    const TemperedEvidence e = tempered_evidence({draws});
    INFO(rows);
    CHECK(e.bridge_error > 0.0);
    CHECK_THAT(e.bridge_error, WithinRel(std::sqrt(jackknife(bridges)), 1e-8));
  }
}

TEST_CASE("evidence of several chains is their mean, and its error falls with their number") {
  const TemperedEvidence a = tempered_evidence({noisy(60, 1)});
  const TemperedEvidence b = tempered_evidence({noisy(60, 4)});
  const TemperedEvidence both = tempered_evidence({noisy(60, 1), noisy(60, 4)});
  CHECK_THAT(both.bridge, WithinRel((a.bridge + b.bridge) / 2.0, 1e-8));
  CHECK_THAT(both.integral, WithinRel((a.integral + b.integral) / 2.0, 1e-8));
  const double within = std::hypot(a.bridge_error, b.bridge_error) / 2.0;
  CHECK(std::abs(a.bridge - b.bridge) / 2.0 < within);
  CHECK_THAT(both.bridge_error, WithinRel(within, 1e-8));
  CHECK(both.chains_agree);
}

TEST_CASE("chains that differ by more than their errors make the error that of their mean") {
  for (const double shift : {0.4, 4.0}) {
    TemperedDraws moved = noisy(60, 2);
    moved.log_likelihoods.array() += shift;
    const TemperedEvidence a = tempered_evidence({noisy(60, 1)});
    const TemperedEvidence b = tempered_evidence({moved});
    const TemperedEvidence both = tempered_evidence({noisy(60, 1), moved});
    const double within = std::hypot(a.bridge_error, b.bridge_error) / 2.0;
    const double between = std::abs(a.bridge - b.bridge) / 2.0;
    CAPTURE(within, between);
    CHECK(between > within);
    CHECK_THAT(both.bridge_error, WithinRel(between, 1e-8));
    CHECK(both.integral_error > std::abs(a.integral - b.integral) / 2.0 * (1.0 - 1e-8));
    CHECK(both.chains_agree == (between < 3.0 * within));
  }
  TemperedDraws far = noisy(60, 2);
  far.log_likelihoods.array() += 4.0;
  const TemperedEvidence apart = tempered_evidence({noisy(60, 1), far});
  CHECK_FALSE(apart.chains_agree);
  // A factor of the likelihood moves bridge and integral alike. So they disagree as before.
  const TemperedEvidence near = tempered_evidence({noisy(60, 1), noisy(60, 2)});
  CHECK(near.disagreement > 0.0);
  CHECK_THAT(apart.disagreement, WithinRel(near.disagreement, 1e-6));
  // Three chains: the sample variance has one degree of freedom less.
  const TemperedEvidence three = tempered_evidence({noisy(60, 1), noisy(60, 1), far});
  const double gap = tempered_evidence({far}).bridge - tempered_evidence({noisy(60, 1)}).bridge;
  CHECK_THAT(three.bridge_error, WithinRel(gap / 3.0, 1e-8));
}

TEST_CASE("a constant factor of the likelihood multiplies the evidence and leaves its error") {
  TemperedDraws draws = noisy(60, 1);
  const TemperedEvidence before = tempered_evidence({draws});
  draws.log_likelihoods.array() += 3.0;
  const TemperedEvidence after = tempered_evidence({draws});
  CHECK_THAT(after.bridge, WithinRel(before.bridge + 3.0, 1e-8));
  CHECK_THAT(after.integral, WithinRel(before.integral + 3.0, 1e-8));
  CHECK_THAT(after.bridge_error, WithinRel(before.bridge_error, 1e-8));
  CHECK_THAT(after.integral_error, WithinRel(before.integral_error, 1e-8));
}

TEST_CASE("too few draws, one replica or a likelihood that is not finite give no evidence") {
  CHECK(all_undefined(tempered_evidence({noisy(3, 1)})));
  CHECK_FALSE(all_undefined(tempered_evidence({noisy(4, 1)})));
  CHECK(all_undefined(tempered_evidence({noisy(60, 1), noisy(3, 1)})));
  CHECK(all_undefined(tempered_evidence({{{1.0}, MatrixXd::Zero(60, 1)}})));
  TemperedDraws broken = noisy(60, 1);
  broken.log_likelihoods(59, 2) = -std::numeric_limits<double>::infinity();
  CHECK(all_undefined(tempered_evidence({broken})));
}

TEST_CASE("neighbours that share no region have no bridge") {
  TemperedDraws apart{{1.0, 0.0}, MatrixXd::Zero(40, 2)};
  apart.log_likelihoods.col(1).setConstant(-1e5);
  CHECK(std::isnan(tempered_evidence({apart}).bridge));
  apart.log_likelihoods.col(1).setConstant(-100.0);
  CHECK(std::isfinite(tempered_evidence({apart}).bridge));
}
