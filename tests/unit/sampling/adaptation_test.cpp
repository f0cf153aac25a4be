#include "sampling/adaptation.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

}  // namespace

TEST_CASE("warm-up windows are those of Stan") {
  const WarmupSchedule standard = warmup_schedule(1000);
  CHECK(standard.first == 75);
  CHECK(standard.last == 950);
  CHECK(standard.window_ends == std::vector<int>{99, 149, 249, 449, 949});
  // Just long enough: one window that is not stretched.
  CHECK(warmup_schedule(150).window_ends == std::vector<int>{99});
  // 200: after the first window, the second fills the rest.
  CHECK(warmup_schedule(200).window_ends == std::vector<int>{99, 149});
  // Short: 15 % and 10 % around one window.
  const WarmupSchedule shorter = warmup_schedule(100);
  CHECK(shorter.first == 15);
  CHECK(shorter.last == 90);
  CHECK(shorter.window_ends == std::vector<int>{89});
  // Too short for a mass matrix.
  CHECK(warmup_schedule(19).window_ends.empty());
  CHECK(warmup_schedule(0).window_ends.empty());
}

TEST_CASE("windows of every length are in order, inside, and end with the last") {
  for (int warmup = 20; warmup < 3000; ++warmup) {
    const WarmupSchedule s = warmup_schedule(warmup);
    REQUIRE_FALSE(s.window_ends.empty());
    REQUIRE(s.window_ends.back() == s.last - 1);
    REQUIRE(s.last <= warmup);
    int before = s.first - 1;
    for (const int end : s.window_ends) {
      REQUIRE(end > before);
      before = end;
    }
  }
}

TEST_CASE("information is taken from the first transition on, in doubling windows") {
  const InformationSchedule s = information_schedule(100);
  CHECK(s.window_ends == std::vector<int>{3, 11, 27, 74});
  const std::vector<int> first_two = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  CHECK(std::vector<int>(s.probes.begin(), s.probes.begin() + 12) == first_two);
  CHECK(information_schedule(1000).window_ends.back() == 949);
  CHECK(information_schedule(19).probes.empty());
  CHECK(information_evaluations(100) == 29);
  CHECK(information_evaluations(0) == 0);
  for (int warmup = 20; warmup < 3000; ++warmup) {
    const InformationSchedule all = information_schedule(warmup);
    REQUIRE(std::adjacent_find(all.probes.begin(), all.probes.end(), std::greater_equal<>()) ==
            all.probes.end());
    for (const int end : all.window_ends)  // every window has what it needs, its last position too
      REQUIRE(std::binary_search(all.probes.begin(), all.probes.end(), end));
    REQUIRE(all.window_ends.back() < warmup);
  }
}

TEST_CASE("the information metric is the inverse of the mean over finite matrices") {
  CovarianceState state;
  reset(state, 2, true);
  add_information(state, Eigen::Matrix2d{{1.0, 0.5}, {0.5, 3.0}});
  add_information(state, Eigen::Matrix2d::Constant(std::nan("")));
  add_information(state, Eigen::Matrix2d{{5.0, -0.1}, {-0.1, 1.0}});
  CHECK(state.count == 2);
  const Eigen::Matrix2d mean{{3.0, 0.2}, {0.2, 2.0}};
  CHECK((inverse_information(state) - mean.inverse()).norm() < 1e-15);
  add_information(state, Eigen::Matrix2d{{-9.0, 0.0}, {0.0, -9.0}});
  CHECK(inverse_information(state).size() == 0);  // not positive definite
}

TEST_CASE("the first updates of dual averaging are those computed by hand") {
  // Hoffman and Gelman 2014, equation 6, gamma = 0.05, t0 = 10, kappa = 0.75, from step 1 with
  // acceptances 0.3 and 0.9.
  DualAveragingState state;
  restart(state, 1.0);
  const double mu = std::log(10.0);
  const double h1 = (0.8 - 0.3) / 11.0;
  const double x1 = mu - h1 / 0.05;
  CHECK_THAT(update(state, 0.3, 0.8), WithinRel(std::exp(x1), 1e-14));
  CHECK_THAT(averaged_step(state), WithinRel(std::exp(x1), 1e-14));
  const double h2 = (1.0 - 1.0 / 12.0) * h1 + (0.8 - 0.9) / 12.0;
  const double x2 = mu - std::sqrt(2.0) / 0.05 * h2;
  CHECK_THAT(update(state, 0.9, 0.8), WithinRel(std::exp(x2), 1e-14));
  const double eta = std::pow(2.0, -0.75);
  CHECK_THAT(averaged_step(state), WithinRel(std::exp(eta * x2 + (1.0 - eta) * x1), 1e-14));
}

TEST_CASE("dual averaging finds the step with the wanted acceptance") {
  // acceptance(e) = exp(-e / 3), so 0.8 at e = -3 log 0.8
  DualAveragingState state;
  restart(state, 50.0);
  double step = 50.0;
  for (int i = 0; i < 3000; ++i) step = update(state, std::exp(-step / 3.0), 0.8);
  CHECK_THAT(averaged_step(state), WithinRel(-3.0 * std::log(0.8), 0.02));
}

TEST_CASE("a covariance of fewer than five draws an unknown is shrunk towards its diagonal") {
  constexpr Index kDimension = 6;
  constexpr Index kCount = 5;  // singular without
  Rng rng(2, StreamPurpose::kTests);
  MatrixXd positions(kDimension, kCount);
  for (double& x : positions.reshaped()) x = rng.normal();
  const MatrixXd centred = positions.colwise() - positions.rowwise().mean();
  const MatrixXd sample = centred * centred.transpose() / (kCount - 1.0);
  MatrixXd expected = 5.0 / 10.0 * (5.0 / 11.0) * sample;
  expected.diagonal() = (5.0 / 10.0 * sample.diagonal().array() + 1e-3 * 5.0 / 10.0).matrix();
  CovarianceState state;
  reset(state, kDimension, true);
  for (Index i = 0; i < kCount; ++i) add(state, positions.col(i));
  CHECK_THAT((regularised_covariance(state) - expected).norm(), WithinAbs(0.0, 1e-12));
}

TEST_CASE("the windowed covariance is the sample covariance, shrunk as Stan does") {
  constexpr Index kDimension = 4;
  constexpr Index kCount = 30;
  Rng rng(1, StreamPurpose::kTests);
  MatrixXd positions(kDimension, kCount);
  for (double& x : positions.reshaped()) x = 1e3 + rng.normal();
  const MatrixXd centred = positions.colwise() - positions.rowwise().mean();
  const MatrixXd sample = centred * centred.transpose() / (kCount - 1.0);
  const MatrixXd expected =
      kCount / (kCount + 5.0) * sample + 1e-3 * 5.0 / (kCount + 5.0) * MatrixXd::Identity(4, 4);
  for (const bool dense : {false, true}) {
    CovarianceState state;
    reset(state, kDimension, dense);
    for (Index i = 0; i < kCount; ++i) add(state, positions.col(i));
    const MatrixXd result = regularised_covariance(state);
    if (dense) {
      CHECK_THAT((result - expected).norm(), WithinAbs(0.0, 1e-10));
      CHECK(result == result.transpose());
    } else {
      CHECK_THAT((result.col(0) - expected.diagonal()).norm(), WithinAbs(0.0, 1e-10));
    }
  }
}
