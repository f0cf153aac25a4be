#include "headway/predictor.hpp"

#include <cmath>

#include "catch.hpp"
#include "headway/analysis/head_scores.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::kernels_of;
using theory::KernelForm;
using theory::predictor_statistics;

TEST_CASE("statistics of a predictor with labels +-1 agree with numbers by hand") {
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
  REQUIRE_THAT(s.predictor_variance, Catch::Matchers::WithinAbs(5.25 / 4, 1e-15));
  variance(1) = std::nan("");
  const theory::PredictorStatistics undefined = predictor_statistics({mean, variance}, labels);
  REQUIRE(std::isnan(undefined.predictor_variance));
  REQUIRE(std::isnan(undefined.right_sign_probability));
  REQUIRE(undefined.accuracy == s.accuracy);
}

TEST_CASE("one-hot labels are classes, and other labels have no accuracy") {
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

TEST_CASE("the variance of several outputs is their mean, as the squared error is") {
  MatrixXd variance(2, 2);
  variance << 1.0, 3.0, 5.0, 7.0;
  const theory::PredictorStatistics s =
      predictor_statistics({MatrixXd::Zero(2, 2), variance}, MatrixXd::Identity(2, 2));
  REQUIRE(s.predictor_variance == 4.0);
  REQUIRE(s.mean_squared_error == 0.5);
}

TEST_CASE("a mean of 0 on every example names no class") {
  const MatrixXd zero = MatrixXd::Zero(3, 1);
  MatrixXd labels(3, 1);
  labels << 1, -1, 1;
  REQUIRE(std::isnan(predictor_statistics({zero, {}}, labels).accuracy));
  REQUIRE(predictor_statistics({zero, {}}, labels).mean_squared_error == 1.0);
  REQUIRE(std::isnan(
      predictor_statistics({MatrixXd::Zero(2, 2), {}}, MatrixXd::Identity(2, 2)).accuracy));
}

TEST_CASE("the gradient of the squared error is that of finite differences, also without heads") {
  constexpr double kTemperature = 0.3, kStep = 1e-5;
  for (const Index outputs : {1, 2}) {
    const test::TheoryCase c = test::random_case({2, 2}, outputs, 9, 5, 41);
    const test::TheoryCase others = test::random_case({2, 2}, outputs, 7, 5, 42);
    Rng rng(3, StreamPurpose::kTests);
    const MatrixXd whole = test::random_spd(4 * outputs, rng);
    for (const MatrixXd& u : {whole, analysis::remove_heads(whole, {2, 2}, outputs, {1})}) {
      const MatrixXd d = test::random_symmetric(4 * outputs, rng);
      const auto reference = kernels_of(c, KernelForm::kStreamed, kTemperature);
      const auto error_at = [&](double step) {
        return (reference->predictive_mean(u + step * d, kTemperature, others.features) -
                others.labels)
            .array()
            .square()
            .mean();
      };
      const double slope = (error_at(kStep) - error_at(-kStep)) / (2.0 * kStep);
      for (const KernelForm form : test::forms_of(c, kTemperature)) {
        const auto state = kernels_of(c, form, kTemperature)->evaluate(u, kTemperature);
        REQUIRE(state);
        const MatrixXd gradient =
            theory::squared_error_gradient(*state, u, others.features, others.labels);
        CHECK((gradient - gradient.transpose()).norm() < 1e-14);
        CHECK_THAT(gradient.cwiseProduct(d).sum(), Catch::Matchers::WithinRel(slope, 1e-6));
      }
    }
  }
}
