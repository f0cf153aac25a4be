#include "verbs/theory/calibration.hpp"

#include <cmath>

#include "catch.hpp"
#include "headway/core/rng.hpp"

using namespace headway;

TEST_CASE("The smooth test of uniform numbers agrees with its definition") {
  // One number x: P_1 to P_4 at 2 x - 1 = 0.5, and chi^2_4 by its closed tail.
  const double p[] = {0.5, -0.125, -0.4375, -0.2890625};
  double square = 0.0;
  for (int k = 1; k <= 4; ++k) square += (2 * k + 1) * p[k - 1] * p[k - 1];
  CHECK_THAT(uniformity_p_value({0.75}),
             Catch::Matchers::WithinRel(std::exp(-square / 2) * (1 + square / 2), 1e-12));
}

TEST_CASE("The smooth test notices ranks that lean, or crowd in the middle or at the ends") {
  std::vector<double> even, lean, middle, ends;
  for (int i = 0; i < 400; ++i) {
    const double u = (i + 0.5) / 400;
    even.push_back(u);
    lean.push_back(std::pow(u, 1.3));
    middle.push_back(0.5 + 0.7 * (u - 0.5));
    ends.push_back(u < 0.5 ? 0.8 * u : 1.0 - 0.8 * (1.0 - u));
  }
  CHECK(uniformity_p_value(even) > 0.99);
  CHECK(uniformity_p_value(lean) < 1e-3);
  CHECK(uniformity_p_value(middle) < 1e-3);
  CHECK(uniformity_p_value(ends) < 1e-3);
}
