// Moments and tail probabilities of the generator's distributions. Tolerances are standard errors
// of the statistic, as many as 60 checks pass by chance.
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/core/rng.hpp"

using headway::Rng;
using headway::StreamPurpose;

namespace {

constexpr int kDraws = 400000;
const double kZ = headway::testing::largest_z(60);

// z-score of the mean of g(draw) against `expected`, with the standard error from the same draws.
double z_score(const std::vector<double>& draws, const std::function<double(double)>& g,
               double expected) {
  double sum = 0.0;
  double square = 0.0;
  for (const double x : draws) {
    const double difference = g(x) - expected;
    sum += difference;
    square += difference * difference;
  }
  const auto n = static_cast<double>(draws.size());
  return std::abs(sum / n) / std::sqrt(square / n / n);
}

std::vector<double> draw_many(std::uint64_t index, const std::function<double(Rng&)>& draw) {
  Rng rng(11, StreamPurpose::kTests, index);
  std::vector<double> draws(kDraws);
  for (double& x : draws) x = draw(rng);
  return draws;
}

void check_moment(const std::vector<double>& draws, int power, double expected) {
  CAPTURE(power);
  CHECK(z_score(
            draws, [power](double x) { return std::pow(x, power); }, expected) < kZ);
}

}  // namespace

TEST_CASE("Normal draws have the normal's moments and tails") {
  std::vector<double> draws(kDraws);
  Rng(11, StreamPurpose::kTests, 0).fill_normal(draws);
  const std::array<double, 6> moments = {0.0, 1.0, 0.0, 3.0, 0.0, 15.0};
  for (int power = 1; power <= 6; ++power) {
    check_moment(draws, power, moments[static_cast<std::size_t>(power - 1)]);
  }
  for (const double x : {-3.5, -2.0, -1.0, -0.1, 0.0, 0.3, 1.5, 3.0}) {
    CAPTURE(x);
    const double below = 0.5 * std::erfc(-x / std::sqrt(2.0));
    CHECK(z_score(
              draws, [x](double d) { return d < x ? 1.0 : 0.0; }, below) < kZ);
  }
}

TEST_CASE("Neighbouring normal draws are uncorrelated") {
  std::vector<double> draws(kDraws);
  Rng(11, StreamPurpose::kTests, 1).fill_normal(draws);
  for (const std::size_t lag : {1UL, 2UL, 3UL, 128UL}) {
    CAPTURE(lag);
    std::vector<double> products;
    std::vector<double> square_products;
    for (std::size_t i = 0; i + lag < draws.size(); ++i) {
      products.push_back(draws[i] * draws[i + lag]);
      square_products.push_back((draws[i] * draws[i] - 1.0) *
                                (draws[i + lag] * draws[i + lag] - 1.0));
    }
    CHECK(z_score(
              products, [](double x) { return x; }, 0.0) < kZ);
    CHECK(z_score(
              square_products, [](double x) { return x; }, 0.0) < kZ);
  }
}

TEST_CASE("The z-scores above reject a generator that is slightly wrong") {
  std::vector<double> draws(kDraws);
  Rng(11, StreamPurpose::kTests, 0).fill_normal(draws);
  for (double& x : draws) x *= 1.01;  // one per cent too wide
  CHECK(z_score(
            draws, [](double x) { return x * x; }, 1.0) > kZ);
}

TEST_CASE("Uniform draws have the uniform's moments") {
  const auto draws = draw_many(2, [](Rng& rng) { return rng.uniform(); });
  check_moment(draws, 1, 0.5);
  check_moment(draws, 2, 1.0 / 3.0);
  check_moment(draws, 4, 0.2);
}

TEST_CASE("Gamma draws have the gamma's moments") {
  std::uint64_t index = 10;
  for (const double shape : {0.1, 0.5, 1.0, 1.7, 9.0, 250.0}) {
    CAPTURE(shape);
    const auto draws = draw_many(index++, [shape](Rng& rng) { return rng.gamma(shape); });
    check_moment(draws, 1, shape);
    check_moment(draws, 2, shape * (shape + 1.0));
  }
  // Shape 1 is the exponential: P(x < 1) = 1 - 1/e and E[log x] = -gamma_Euler.
  const auto draws = draw_many(20, [](Rng& rng) { return rng.gamma(1.0); });
  CHECK(z_score(
            draws, [](double x) { return x < 1.0 ? 1.0 : 0.0; }, -std::expm1(-1.0)) < kZ);
  CHECK(z_score(
            draws, [](double x) { return std::log(x); }, -0.57721566490153286) < kZ);
}

TEST_CASE("Chi-squared draws have the chi-squared's moments") {
  std::uint64_t index = 30;
  for (const double degrees : {1.0, 2.0, 10.0, 1000.0}) {
    CAPTURE(degrees);
    const auto draws = draw_many(index++, [degrees](Rng& rng) { return rng.chi_squared(degrees); });
    check_moment(draws, 1, degrees);
    check_moment(draws, 2, degrees * (degrees + 2.0));
  }
  // One degree is the square of a normal: P(x < 1) = erf(1 / sqrt 2).
  const auto draws = draw_many(30, [](Rng& rng) { return rng.chi_squared(1.0); });
  CHECK(z_score(
            draws, [](double x) { return x < 1.0 ? 1.0 : 0.0; }, std::erf(std::sqrt(0.5))) < kZ);
}

TEST_CASE("uniform_index is unbiased, also where 2^64 is no multiple of the bound") {
  Rng rng(11, StreamPurpose::kTests, 40);
  CHECK(rng.uniform_index(1) == 0);
  const auto sevens = draw_many(41, [](Rng& r) { return static_cast<double>(r.uniform_index(7)); });
  for (int k = 0; k < 7; ++k) {
    CAPTURE(k);
    CHECK(z_score(
              sevens, [k](double x) { return x == k ? 1.0 : 0.0; }, 1.0 / 7.0) < kZ);
  }
  // draw % (3 2^62) without rejection would give the lowest third half of the probability.
  const std::uint64_t quarter = std::uint64_t{1} << 62U;
  const auto thirds = draw_many(42, [quarter](Rng& r) {
    const std::uint64_t third = r.uniform_index(3 * quarter) / quarter;
    return static_cast<double>(third);
  });
  for (int k = 0; k < 3; ++k) {
    CAPTURE(k);
    CHECK(z_score(
              thirds, [k](double x) { return x == k ? 1.0 : 0.0; }, 1.0 / 3.0) < kZ);
  }
}
