#include "headway/numerics/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"

using namespace headway;
using namespace headway::numerics;
using Catch::Matchers::WithinRel;
using Values = std::vector<double>;

namespace {

Values drawn(std::size_t count) {
  Rng rng(5, StreamPurpose::kTests);
  Values x(count);
  for (double& value : x) value = 3.0 + rng.normal();
  return x;
}

}  // namespace

TEST_CASE("moments are the mean, the unbiased variance and the error of the mean") {
  const Moments m = moments(Values{1, 2, 3, 6});
  CHECK(m.count == 4.0);
  CHECK(m.mean == 3.0);
  CHECK(m.squares == 14.0);
  CHECK_THAT(m.variance(), WithinRel(14.0 / 3.0, 1e-15));
  CHECK_THAT(m.deviation(), WithinRel(std::sqrt(14.0 / 3.0), 1e-15));
  CHECK_THAT(m.standard_error(), WithinRel(std::sqrt(14.0 / 12.0), 1e-15));
}

TEST_CASE("moments of Eigen's arrays are those of the list, whatever their storage") {
  const Values x = drawn(35);
  const Moments expected = moments(x);
  const Eigen::Map<const MatrixXd> matrix(x.data(), 5, 7);
  for (const Moments& m : {moments(matrix), moments(matrix.transpose()),
                           moments(Eigen::Map<const VectorXd>(x.data(), 35))}) {
    CHECK(m.count == 35.0);
    CHECK_THAT(m.mean, WithinRel(expected.mean, 1e-14));
    CHECK_THAT(m.squares, WithinRel(expected.squares, 1e-14));
  }
  CHECK_THAT(moments(matrix.block(1, 2, 3, 4)).mean,
             WithinRel(matrix.block(1, 2, 3, 4).sum() / 12.0, 1e-14));
}

TEST_CASE("no values have no mean, and one value has no spread: both are NaN") {
  for (const Moments& none : {moments(Values{}), moments(VectorXd())}) {
    CHECK(none.count == 0.0);
    CHECK(std::isnan(none.mean));
    CHECK(std::isnan(none.variance()));
    CHECK(std::isnan(none.standard_error()));
  }
  for (const Moments& one : {moments(Values{2.5}), moments(VectorXd::Constant(1, 2.5))}) {
    CHECK(one.mean == 2.5);
    CHECK(one.squares == 0.0);
    CHECK(std::isnan(one.variance()));
    CHECK_FALSE(std::signbit(one.variance()));  // a NaN that prints as "nan"
    CHECK(std::isnan(one.deviation()));
    CHECK(std::isnan(one.standard_error()));
  }
}

TEST_CASE("quantiles are order statistics, with linear interpolation between them") {
  const Values x = {1, 2, 4, 8};
  CHECK(quantile_of_sorted(x, 0.0) == 1.0);
  CHECK(quantile_of_sorted(x, 1.0) == 8.0);
  CHECK(quantile_of_sorted(x, 0.5) == 3.0);
  CHECK_THAT(quantile_of_sorted(x, 0.9), WithinRel(4.0 + 0.7 * 4.0, 1e-14));
  CHECK(quantile_of_sorted(Values{7.0}, 0.3) == 7.0);
  CHECK(std::isnan(quantile_of_sorted({}, 0.5)));
}

TEST_CASE("a quantile between equal values is their value, to the last bit") {
  for (const double value : drawn(50)) {
    const Values same(5, value);
    for (double p = 0.0; p <= 1.0; p += 0.01) CHECK(quantile_of_sorted(same, p) == value);
  }
}

TEST_CASE("equal values share the mean of their ranks") {
  CHECK(average_ranks(Values{3, 1, 2}) == Values{3, 1, 2});
  CHECK(average_ranks(Values{5, 1, 5, 5, 0}) == Values{4, 2, 4, 4, 1});
  CHECK(average_ranks({}).empty());
}

TEST_CASE("ranks count the smaller values and half of the equal ones") {
  Values x = drawn(60);
  for (double& value : x) value = std::round(2.0 * value);  // many ties
  const Values ranks = average_ranks(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double below = 0.0;
    double equal = 0.0;
    for (const double other : x) {
      below += other < x[i] ? 1.0 : 0.0;
      equal += other == x[i] ? 1.0 : 0.0;
    }
    CHECK(ranks[i] == below + 0.5 * (equal + 1.0));
  }
}

TEST_CASE("a shuffle draws for the last place first, one number a place") {
  std::vector<int> values = {0, 1, 2, 3, 4, 5, 6};
  Rng rng(9, StreamPurpose::kTests);
  shuffle(values, rng);
  Rng same(9, StreamPurpose::kTests);
  std::vector<int> expected = {0, 1, 2, 3, 4, 5, 6};
  for (std::size_t i = 6; i > 0; --i) std::swap(expected[i], expected[same.uniform_index(i + 1)]);
  CHECK(values == expected);
  CHECK(rng.state() == same.state());
  std::vector<int> none;
  shuffle(none, rng);
  std::array<int, 1> one = {4};
  shuffle(one, rng);
  CHECK(rng.state() == same.state());
}

TEST_CASE("all orders of a shuffle are equally likely") {
  std::array<int, 6> counts{};
  constexpr int kDraws = 6000;
  Rng rng(10, StreamPurpose::kTests);
  for (int draw = 0; draw < kDraws; ++draw) {
    std::array<int, 3> order = {0, 1, 2};
    shuffle(order, rng);
    ++counts.at(static_cast<std::size_t>(2 * order[0] + (order[1] > order[2] ? 1 : 0)));
  }
  // Each count is binomial with mean 1000 and sd 29; 5.5 of them is beyond chance.
  for (const int count : counts) CHECK(std::abs(count - 1000) < 160);
}
