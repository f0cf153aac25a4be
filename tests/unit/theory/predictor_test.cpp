#include "headway/theory/predictor.hpp"

#include <cmath>

#include "catch.hpp"

using namespace headway;
using theory::predictor_statistics;

TEST_CASE("statistics of a predictor with labels +-1") {
  MatrixXd mean(4, 1);
  mean << 0.5, -2.0, 0.0, 1.0;
  MatrixXd variance(4, 1);
  variance << 0.25, 4.0, 1.0, 0.0;
  MatrixXd labels(4, 1);
  labels << 1, 1, 1, 1;
  const theory::PredictorStatistics s = predictor_statistics({mean, variance}, labels);
  REQUIRE_THAT(s.accuracy, Catch::Matchers::WithinAbs(0.5, 1e-15));  // a mean of exactly 0 is wrong
  const double phi1 = 0.8413447460685429;                            // Phi(1)
  REQUIRE_THAT(s.right_sign_probability,
               Catch::Matchers::WithinAbs((phi1 + (1 - phi1) + 0.5 + 1.0) / 4, 1e-12));
  REQUIRE_THAT(s.mean_squared_error, Catch::Matchers::WithinAbs((0.25 + 9 + 1 + 0) / 4, 1e-15));
  REQUIRE_THAT(s.variance, Catch::Matchers::WithinAbs(5.25 / 4, 1e-15));
}

TEST_CASE("classes by one-hot labels, and no accuracy without classes") {
  MatrixXd mean(2, 3);
  mean << 0.1, 0.5, 0.2, 0.9, 0.8, 0.1;
  MatrixXd one_hot(2, 3);
  one_hot << 0, 1, 0, 0, 1, 0;
  REQUIRE_THAT(predictor_statistics({mean, {}}, one_hot).accuracy,
               Catch::Matchers::WithinAbs(0.5, 1e-15));
  REQUIRE(std::isnan(predictor_statistics({mean, {}}, one_hot).right_sign_probability));
  MatrixXd real = one_hot;
  real(0, 0) = 0.3;
  REQUIRE(std::isnan(predictor_statistics({mean, {}}, real).accuracy));
  REQUIRE_FALSE(std::isnan(predictor_statistics({mean, {}}, real).mean_squared_error));
  REQUIRE(std::isnan(predictor_statistics({}, MatrixXd(0, 1)).accuracy));
}
