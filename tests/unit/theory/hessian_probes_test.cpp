#include "headway/theory/hessian_probes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/theory/finite_width.hpp"
#include "headway/theory/repeated_predictor.hpp"
#include "headway/theory/saddle_evidence.hpp"
#include "larger.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::kernels_of;
using test::random_case;

namespace {

constexpr double kT = 0.1;

/// A saddle point with its dense Hessian and its products. Wide, so that the 1/N correction exists.
struct Solved {
  explicit Solved(Index outputs = 1, Index width = 60)
      : c(random_case({2, 3}, outputs, 25, 5, 17)) {
    c.architecture.widths.assign(3, width);
    action.emplace(c.architecture, kT, kernels_of(c, theory::KernelForm::kStreamed));
    saddle = theory::solve_saddle_point(
        *action, theory::gaussian_process_order_parameters(c.architecture), {}, observer);
    hessian = action->hessian(saddle.order_parameters, *saddle.evaluation.energy);
    curvature.emplace(*action, saddle.order_parameters, saddle.evaluation,
                      theory::Precision::kDouble);
  }
  test::TheoryCase c;
  Observer observer;
  std::optional<theory::Action> action;
  theory::SaddlePoint saddle;
  MatrixXd hessian;
  std::optional<theory::ActionCurvature> curvature;
};

class StopAtOnce final : public Observer {
 public:
  [[nodiscard]] bool interrupted() const override { return true; }
};

}  // namespace

TEST_CASE("the smallest eigenvalue from products is that of the dense Hessian, within its error") {
  for (const Index outputs : {1, 2}) {
    Solved s(outputs);
    const double exact = theory::smallest_hessian_eigenvalue(*s.action, s.hessian);
    const theory::SmallestEigenvalue tight =
        theory::smallest_hessian_eigenvalue(*s.action, *s.curvature, 1e-8, 2000, s.observer);
    CAPTURE(exact, tight.value, tight.error, tight.products);
    CHECK_THAT(tight.value, Catch::Matchers::WithinRel(exact, 1e-7));
    const theory::SmallestEigenvalue rough =
        theory::smallest_hessian_eigenvalue(*s.action, *s.curvature, 0.01, 30, s.observer);
    CHECK(rough.products <= 30);
    CHECK(rough.value >= exact * (1 - 1e-10));
    CHECK(rough.value - exact <= rough.error);
  }
}

TEST_CASE("the evidence from random probes agrees with the dense one, within its stated error") {
  for (const Index outputs : {1, 2}) {
    Solved s(outputs);
    const double exact = theory::saddle_evidence(*s.action, s.saddle, s.hessian).log_evidence;
    double square = 0.0;
    constexpr int kSeeds = 40;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const theory::HessianProbes probes = theory::probe_hessian(*s.curvature, 8, seed, s.observer);
      REQUIRE(probes.positive);
      const theory::SaddleEvidence e =
          theory::saddle_evidence(*s.action, s.saddle, *s.curvature, probes);
      REQUIRE(e.error > 0.0);
      square += std::pow((e.log_evidence - exact) / e.error, 2);
    }
    // Errors of 8 probes have 7 degrees of freedom: mean square 7 / 5, less than 4 over 40 seeds.
    CAPTURE(square / kSeeds);
    CHECK(square / kSeeds > 0.4);
    CHECK(square / kSeeds < 4.0);
  }
}

TEST_CASE("the correction from random probes agrees with the dense one, within its stated error") {
  Solved s;
  Rng rng(2, StreamPurpose::kTests);
  const MatrixXd test_features = headway::test::random_matrix(6, s.c.features.cols(), rng);
  const theory::RepeatedPredictor test(s.action->kernels().shared_from_this(),
                                       std::make_shared<const MatrixXd>(test_features), 2.0);
  const theory::FiniteWidthCorrection exact =
      theory::finite_width_correction(*s.action, s.saddle, s.hessian, &test, s.observer);
  REQUIRE(exact.defined);
  CHECK(exact.probe_error == 0.0);
  const theory::HessianProbes probes = theory::probe_hessian(*s.curvature, 400, 1, s.observer);
  const theory::FiniteWidthCorrection probed =
      theory::finite_width_correction(*s.action, s.saddle, *s.curvature, probes, &test, s.observer);
  REQUIRE(probed.defined);
  CHECK(probed.probe_error > 0.0);
  CHECK(probed.probe_error < 0.2);
  for (int l = 1; l <= 3; ++l) {
    const MatrixXd sd = exact.deviation.at(l);
    const MatrixXd shift = exact.mean.at(l) - s.saddle.order_parameters.at(l);
    CAPTURE(l, probed.probe_error);
    CHECK((probed.mean.at(l) - exact.mean.at(l))
              .cwiseQuotient(sd)
              .cwiseAbs()
              .maxCoeff<Eigen::PropagateNaN>() < 5.0 * probed.probe_error);
    CHECK(shift.cwiseQuotient(sd).cwiseAbs().maxCoeff() > 0.02);  // not negligible
    CHECK((probed.deviation.at(l).cwiseQuotient(sd).array() - 1.0)
              .abs()
              .maxCoeff<Eigen::PropagateNaN>() < 0.2);
  }
  CHECK(test::relative_error(probed.prediction.mean, exact.prediction.mean) < 0.05);
  CHECK(test::relative_error(probed.prediction.variance, exact.prediction.variance) < 0.1);
}

TEST_CASE("the error of random probes is the standard error of four independent quarters") {
  const Solved s;
  Observer observer;
  const auto correction = [&](const theory::HessianProbes& probes) {
    return theory::finite_width_correction(*s.action, s.saddle, *s.curvature, probes, nullptr,
                                           observer);
  };
  const theory::HessianProbes probes = theory::probe_hessian(*s.curvature, 16, 3, observer);
  const theory::FiniteWidthCorrection whole = correction(probes);
  std::vector<theory::FiniteWidthCorrection> quarters;
  for (std::ptrdiff_t g = 0; g < 4; ++g) {
    theory::HessianProbes quarter = probes;
    quarter.draws.assign(probes.draws.begin() + 4 * g, probes.draws.begin() + 4 * (g + 1));
    quarter.entropy_draws.resize(4);
    quarters.push_back(correction(quarter));
  }
  double expected = 0.0;
  for (int l = 1; l <= 3; ++l) {
    MatrixXd square = MatrixXd::Zero(whole.mean.at(l).rows(), whole.mean.at(l).cols());
    MatrixXd sum = square;
    for (const auto& quarter : quarters) {
      sum += quarter.mean.at(l) / 4.0;
      square += (quarter.mean.at(l) - whole.mean.at(l)).cwiseAbs2();
    }
    CHECK(test::relative_error(sum, whole.mean.at(l)) < 1e-6);
    const MatrixXd error = (square / (4.0 * 3.0)).cwiseSqrt();
    expected = headway::testing::larger(
        expected, error.cwiseQuotient(whole.deviation.at(l)).maxCoeff<Eigen::PropagateNaN>());
  }
  CHECK_THAT(whole.probe_error, Catch::Matchers::WithinRel(expected, 1e-4));
}

TEST_CASE("probes report a saddle that is no minimum, and an interruption") {
  Solved s;
  theory::OrderParameters far = s.saddle.order_parameters;
  far.layers[0] *= 40.0;  // log det K is concave there and N small against P
  test::TheoryCase narrow = s.c;
  narrow.architecture.widths.assign(3, 1);
  const theory::Action action(narrow.architecture, kT,
                              kernels_of(narrow, theory::KernelForm::kStreamed));
  const theory::Action::Evaluation at = action.evaluate(far);
  const theory::ActionCurvature curvature(action, far, at, theory::Precision::kDouble);
  REQUIRE(theory::smallest_hessian_eigenvalue(action, action.hessian(far, *at.energy)) < 0.0);
  CHECK(theory::smallest_hessian_eigenvalue(action, curvature, 1e-6, 500, s.observer).value < 0.0);
  CHECK_FALSE(theory::probe_hessian(curvature, 4, 1, s.observer).positive);

  StopAtOnce stop;
  CHECK(theory::probe_hessian(*s.curvature, 4, 1, stop).interrupted);
  CHECK(std::isnan(
      theory::smallest_hessian_eigenvalue(*s.action, *s.curvature, 1e-9, 500, stop).value));
  const theory::FiniteWidthCorrection stopped =
      theory::finite_width_correction(*s.action, s.saddle, s.hessian, nullptr, stop);
  CHECK_FALSE(stopped.defined);
  CHECK(stopped.reason == "interrupted");
  // And what a correction says to such probes, or to a Hessian that is none of a minimum.
  const auto reason = [&](const auto& change) {
    theory::HessianProbes probes = theory::probe_hessian(*s.curvature, 8, 1, s.observer);
    change(probes);
    const theory::FiniteWidthCorrection none = theory::finite_width_correction(
        *s.action, s.saddle, *s.curvature, probes, nullptr, s.observer);
    CHECK(none.defined == none.reason.empty());
    return none.reason;
  };
  const std::string no_minimum = "the Hessian at the saddle point is not positive definite";
  CHECK(reason([](auto&) {}).empty());
  CHECK(reason([](auto& p) { p.positive = false; }) == no_minimum);
  CHECK(reason([](auto& p) { p.interrupted = true; }) == "interrupted");
  CHECK(reason([](auto& p) { p.draws.resize(3); }) == "fewer probes than groups of them");
  CHECK(theory::finite_width_correction(*s.action, s.saddle, -s.hessian, nullptr, s.observer)
            .reason == no_minimum);
  StopAtOnce later;
  CHECK(theory::finite_width_correction(*s.action, s.saddle, *s.curvature,
                                        theory::probe_hessian(*s.curvature, 8, 1, s.observer),
                                        nullptr, later)
            .reason == "interrupted");
}

TEST_CASE(
    "the covariance of functions of U_1 is that of its entries, by the Hessian and by products") {
  for (const Index outputs : {1, 2}) {
    Solved s(outputs);
    const MatrixXd& u = s.saddle.order_parameters.layers.front();
    Rng rng(8, StreamPurpose::kTests);
    MatrixXd entry = MatrixXd::Zero(u.rows(), u.rows());
    entry(0, 0) = 1.0;
    MatrixXd pair = MatrixXd::Zero(u.rows(), u.rows());
    pair(1, 0) = pair(0, 1) = 0.5;  // the function U_1[1, 0]
    const std::vector<MatrixXd> gradients = {entry, pair, test::random_symmetric(u.rows(), rng),
                                             MatrixXd::Zero(u.rows(), u.rows())};
    const MatrixXd dense = theory::posterior_covariance(s.hessian, gradients);
    const MatrixXd products = theory::posterior_covariance(*s.curvature, gradients, s.observer);
    CHECK(test::relative_error(products, dense) < 1e-5);
    const theory::FiniteWidthCorrection correction =
        theory::finite_width_correction(*s.action, s.saddle, s.hessian, nullptr, s.observer);
    const MatrixXd& deviation = correction.deviation.layers.front();
    CHECK_THAT(std::sqrt(dense(0, 0)), Catch::Matchers::WithinRel(deviation(0, 0), 1e-9));
    CHECK_THAT(std::sqrt(dense(1, 1)), Catch::Matchers::WithinRel(deviation(1, 0), 1e-9));
    CHECK(dense(3, 3) == 0.0);
    StopAtOnce stopped;
    CHECK(theory::posterior_covariance(*s.curvature, gradients, stopped).size() == 0);
    CHECK(theory::posterior_covariance(-s.hessian, gradients).size() == 0);
  }
}
