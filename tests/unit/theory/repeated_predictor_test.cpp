#include "headway/theory/repeated_predictor.hpp"

#include <cmath>

#include "catch.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/theory/finite_width.hpp"
#include "headway/theory/hessian_probes.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::kernels_of;
using test::random_case;
using test::relative_error;
using theory::KernelForm;
using theory::RepeatedPredictor;

namespace {

constexpr double kT = 0.2;
constexpr double kMany = 1e6;  // predictions

class StopAtOnce final : public Observer {
 public:
  [[nodiscard]] bool interrupted() const override { return true; }
};

}  // namespace

TEST_CASE("kept kernels of test examples predict what their features do") {
  const test::TheoryCase c = random_case({2, 2}, 1, 15, 30, 3);
  Rng rng(4, StreamPurpose::kTests);
  // More than two tiles, the last of them short.
  const auto features =
      std::make_shared<const MatrixXd>(test::random_matrix(130, c.features.cols(), rng));
  const MatrixXd u = test::random_spd(4, rng);
  MatrixXd directions(10, 3);
  for (Index m = 0; m < 3; ++m)
    directions.col(m) = numerics::symmetric_to_vector(test::random_symmetric(4, rng));
  Observer observer;
  for (const KernelForm form : {KernelForm::kStored, KernelForm::kStreamed}) {
    const auto kernels = kernels_of(c, form);
    const RepeatedPredictor kept(kernels, features, kMany);
    const RepeatedPredictor direct(kernels, features, 1.0);
    REQUIRE(kept.keeps_kernels());
    REQUIRE_FALSE(direct.keeps_kernels());
    const auto state = kernels->evaluate(u, kT);
    const theory::Prediction a = kept.predict(*state, u);
    const theory::Prediction b = state->predict(*features);
    CHECK(relative_error(a.mean, b.mean) < 1e-12);
    CHECK(relative_error(a.variance, b.variance) < 1e-11);
    const theory::PredictionFluctuation f = kept.fluctuation(*state, u, directions, observer);
    const theory::MeanFluctuation g = state->mean_fluctuation(u, directions, *features);
    CHECK(relative_error(f.mean_shift, g.mean_shift) < 1e-10);
    CHECK(relative_error(f.mean_variance, g.mean_variance) < 1e-10);
    const theory::QuadraticForm w = state->second_order_form(directions);
    CHECK(relative_error(f.variance_shift, state->variance_shift(u, w, *features)) < 1e-10);
    StopAtOnce stop;
    CHECK(direct.fluctuation(*state, u, directions, stop).mean_shift.rows() == 0);
  }
}

TEST_CASE("kernels of test examples are kept only where that is possible and cheaper") {
  Rng rng(5, StreamPurpose::kTests);
  const auto keeps = [&](std::vector<int> heads, Index outputs, Index n0, KernelForm form) {
    const test::TheoryCase c = random_case(std::move(heads), outputs, 40, n0, 3);
    const auto features =
        std::make_shared<const MatrixXd>(test::random_matrix(9, c.features.cols(), rng));
    const RepeatedPredictor predictor(kernels_of(c, form), features, kMany);
    const MatrixXd u = test::random_spd(c.architecture.paths() * outputs, rng);
    const auto state = predictor.keeps_kernels() ? nullptr : kernels_of(c, form)->evaluate(u, kT);
    if (state) {  // it predicts whether or not kernels are kept
      CHECK(predictor.predict(*state, u).mean == state->predict(*features).mean);
    }
    return predictor.keeps_kernels();
  };
  CHECK(keeps({2, 2}, 1, 40, KernelForm::kStored));
  CHECK_FALSE(keeps({2, 2}, 1, 8, KernelForm::kStored));     // few features
  CHECK_FALSE(keeps({2, 2}, 3, 40, KernelForm::kStreamed));  // several outputs
  CHECK_FALSE(keeps({2}, 1, 4, KernelForm::kFeatureSpace));  // no kernel between examples
}

TEST_CASE("the smallest Hessian eigenvalue of many unknowns is that of all eigenvalues") {
  test::TheoryCase c = random_case({4, 6}, 1, 30, 5, 11);  // 24 paths: 300 + 21 + 1 unknowns
  c.architecture.widths.assign(3, 80);
  const theory::Action action(c.architecture, kT, kernels_of(c, KernelForm::kStreamed));
  Observer observer;
  const theory::SaddlePoint s = theory::solve_saddle_point(
      action, theory::gaussian_process_order_parameters(c.architecture), {}, observer);
  const MatrixXd hessian = action.hessian(s.order_parameters, *s.evaluation.energy);
  REQUIRE(hessian.rows() == 322);
  // In entries of U: off-diagonal ones count sqrt(2) in svec coordinates.
  VectorXd weights(hessian.rows());
  Index k = 0;
  for (const Index n : {24, 6, 1}) {
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) weights[k++] = i == j ? 1.0 : std::sqrt(2.0);
    }
  }
  const auto smallest = [&](const MatrixXd& h) {
    const MatrixXd in_entries = weights.asDiagonal() * h * weights.asDiagonal();
    return numerics::symmetric_eigen(in_entries, false).values[0] / 80.0;
  };
  CHECK_THAT(theory::smallest_hessian_eigenvalue(action, hessian),
             Catch::Matchers::WithinRel(smallest(hessian), 1e-9));
  const MatrixXd saddle =
      hessian - 1.5 * smallest(hessian) * 80.0 * MatrixXd::Identity(hessian.rows(), hessian.rows());
  REQUIRE(smallest(saddle) < 0.0);  // no Cholesky factor
  CHECK_THAT(theory::smallest_hessian_eigenvalue(action, saddle),
             Catch::Matchers::WithinRel(smallest(saddle), 1e-9));
}
