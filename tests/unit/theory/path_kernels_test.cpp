#include "headway/path_kernels.hpp"

#include <Eigen/Cholesky>
#include <cmath>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/theory/empty_directions.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::kernels_of;
using test::random_case;
using test::relative_error;
using theory::KernelForm;

namespace {

constexpr double kT = 0.05;

struct Setting {
  explicit Setting(test::TheoryCase problem) : c(std::move(problem)), forms(test::forms_of(c)) {}
  test::TheoryCase c;
  std::vector<KernelForm> forms;
};

/// Few and many features against examples, one and several outputs: every form that is possible.
std::vector<Setting> settings() {
  return {Setting(random_case({2, 2}, 1, 9, 5, 1)),  // p N_0 > P > N_0: feature blocks
          Setting(random_case({2, 1}, 1, 4, 6, 2)),  // P < N_0: example blocks
          Setting(random_case({3}, 1, 30, 4, 3)),    // p N_0 < P
          Setting(random_case({1}, 1, 5, 3, 4)),    Setting(random_case({2, 2}, 3, 6, 3, 5)),
          Setting(random_case({2}, 2, 40, 3, 6))};
}

MatrixXd random_u(const test::TheoryCase& c) {
  Rng rng(8, StreamPurpose::kTests);
  return test::random_spd(c.architecture.outputs * c.architecture.paths(), rng);
}

}  // namespace

TEST_CASE("energy, kernel and gradient of every form agree with the definition") {
  for (const Setting& s : settings()) {
    const MatrixXd u = random_u(s.c);
    Rng rng(9, StreamPurpose::kTests);
    const MatrixXd d = test::random_symmetric(u.rows(), rng);
    const double reference = test::reference_energy(s.c, u, kT);
    const double h = 1e-5;
    const double slope =
        (test::reference_energy(s.c, u + h * d, kT) - test::reference_energy(s.c, u - h * d, kT)) /
        (2 * h);
    for (KernelForm form : s.forms) {
      const auto kernels = kernels_of(s.c, form);
      REQUIRE(kernels->form() == form);
      const auto state = kernels->evaluate(u, kT);
      REQUIRE_THAT(state->energy(), Catch::Matchers::WithinRel(reference, 1e-11));
      REQUIRE_THAT(state->gradient.cwiseProduct(d).sum(), Catch::Matchers::WithinRel(slope, 1e-6));
      if (form == KernelForm::kGram) {
        REQUIRE_THROWS_WITH(kernels->kernel(u), Catch::Matchers::ContainsSubstring("Gram"));
        REQUIRE(kernels->features().size() == 0);
        REQUIRE(kernels->examples() == s.c.features.rows());
        continue;
      }
      REQUIRE(relative_error(kernels->kernel(u),
                             test::reference_kernel(s.c.features, s.c.features, u, s.c.n0,
                                                    s.c.architecture.outputs)) < 1e-13);
    }
  }
}

TEST_CASE(
    "Hessian and third derivatives of every form agree with finite differences of the gradient") {
  for (const Setting& s : settings()) {
    const MatrixXd u = random_u(s.c);
    Rng rng(10, StreamPurpose::kTests);
    const MatrixXd d = test::random_symmetric(u.rows(), rng);
    const VectorXd dv = numerics::symmetric_to_vector(d);
    for (KernelForm form : s.forms) {
      const auto kernels = kernels_of(s.c, form);
      const auto state = kernels->evaluate(u, kT);
      const double h = 1e-5;
      const MatrixXd slope = (kernels->evaluate(u + h * d, kT)->gradient -
                              kernels->evaluate(u - h * d, kT)->gradient) /
                             (2 * h);
      const MatrixXd hessian = state->hessian();
      REQUIRE(relative_error(hessian * dv, numerics::symmetric_to_vector(slope)) < 1e-6);
      REQUIRE(relative_error(state->hessian(theory::Precision::kSingle), hessian) < 1e-4);
      // Fourth order, so that the step is large enough for rounding not to show.
      const double g = 1e-3;
      const auto gradient_at = [&](double t) { return kernels->evaluate(u + t * d, kT)->gradient; };
      const MatrixXd near = gradient_at(g) + gradient_at(-g);
      const MatrixXd far = gradient_at(2 * g) + gradient_at(-2 * g);
      const MatrixXd curvature = (16 * near - far - 30 * state->gradient) / (12 * g * g);
      REQUIRE(relative_error(state->contract_third_derivative(dv * dv.transpose()), curvature) <
              5e-5);
      REQUIRE(relative_error(
                  state->contract_third_derivative(dv * dv.transpose(), theory::Precision::kSingle),
                  state->contract_third_derivative(dv * dv.transpose())) < 1e-4);
      Rng frame_rng(11, StreamPurpose::kTests);
      const MatrixXd frame = test::random_matrix(u.rows(), u.rows(), frame_rng);
      const MatrixXd e = frame.inverse() * d * frame.inverse().transpose();
      const MatrixXd framed_slope = frame.transpose() * slope * frame;
      const MatrixXd framed_curvature = frame.transpose() * curvature * frame;
      const auto products = state->curvature(frame, theory::Precision::kDouble);
      REQUIRE(relative_error(products->apply(e), framed_slope) < 1e-6);
      REQUIRE(relative_error(products->apply_twice(e), framed_curvature) < 5e-5);
      REQUIRE(relative_error(products->apply(e),
                             frame.transpose() *
                                 numerics::vector_to_symmetric(hessian * dv, u.rows()) * frame) <
              1e-10);
      const auto single = state->curvature(frame, theory::Precision::kSingle);
      REQUIRE(relative_error(single->apply(e), products->apply(e)) < 1e-4);
      REQUIRE(relative_error(single->apply_twice(e), products->apply_twice(e)) < 1e-4);
      // the average information is positive semidefinite
      const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(state->average_information());
      REQUIRE(eigen.eigenvalues().minCoeff<Eigen::PropagateNaN>() >
              -1e-10 * eigen.eigenvalues().maxCoeff());
    }
  }
}

TEST_CASE("predictor mean and variance of every form are the Gaussian-process formulas") {
  for (const Setting& s : settings()) {
    const MatrixXd u = random_u(s.c);
    const Index outputs = s.c.architecture.outputs;
    Rng rng(12, StreamPurpose::kTests);
    const MatrixXd test_features = test::random_matrix(7, s.c.features.cols(), rng);
    MatrixXd k = test::reference_kernel(s.c.features, s.c.features, u, s.c.n0, outputs);
    k.diagonal().array() += kT;
    const MatrixXd cross = test::reference_kernel(s.c.features, test_features, u, s.c.n0, outputs);
    const MatrixXd prior = test::reference_kernel(test_features, test_features, u, s.c.n0, outputs);
    const MatrixXd solved = k.ldlt().solve(cross);
    const VectorXd mean = solved.transpose() * s.c.labels.reshaped();
    const VectorXd variance = prior.diagonal() - (cross.transpose() * solved).diagonal();
    for (KernelForm form : s.forms) {
      const auto kernels = kernels_of(s.c, form);
      const auto state = kernels->evaluate(u, kT);
      const theory::Prediction p = state->predict(test_features);
      REQUIRE(relative_error(p.mean.reshaped(), mean) < 1e-10);
      REQUIRE(relative_error(p.variance.reshaped(), variance) < 1e-10);
      REQUIRE(relative_error(theory::mean_from_dual(test_features, state->projected_dual(), u),
                             p.mean) < 1e-10);
      REQUIRE(relative_error(kernels->predictive_mean(u, kT, test_features), p.mean) < 1e-10);
    }
  }
}

TEST_CASE("a singular U predicts as the kernel without the missing paths") {
  const test::TheoryCase c = random_case({2, 2}, 1, 30, 4, 3);
  MatrixXd u = random_u(c);
  u.row(1).setZero();
  u.col(1).setZero();
  Rng rng(12, StreamPurpose::kTests);
  const MatrixXd test_features = test::random_matrix(7, c.features.cols(), rng);
  MatrixXd k = test::reference_kernel(c.features, c.features, u, c.n0, 1);
  k.diagonal().array() += kT;
  const VectorXd mean = test::reference_kernel(c.features, test_features, u, c.n0, 1).transpose() *
                        k.ldlt().solve(c.labels);
  // and has an energy, as narrow layers need
  const auto expected = kernels_of(c, KernelForm::kStreamed)->evaluate(u, kT);
  for (KernelForm form : test::forms_of(c)) {
    const auto kernels = kernels_of(c, form);
    REQUIRE(relative_error(kernels->predictive_mean(u, kT, test_features), mean) < 1e-9);
    const auto state = kernels->evaluate(u, kT);
    REQUIRE_THAT(state->energy(),
                 Catch::Matchers::WithinRel(test::reference_energy(c, u, kT), 1e-10));
    REQUIRE(relative_error(state->gradient, expected->gradient) < 1e-9);
    REQUIRE(relative_error(state->fisher_information(theory::Precision::kDouble),
                           expected->fisher_information(theory::Precision::kDouble)) < 1e-9);
    REQUIRE(relative_error(state->predict(test_features).mean, mean) < 1e-9);
    REQUIRE(relative_error(state->predict(test_features).variance,
                           expected->predict(test_features).variance) < 1e-9);
    const MatrixXd frame = MatrixXd::Identity(4, 4);
    REQUIRE(relative_error(state->curvature(frame, theory::Precision::kDouble)->apply(u),
                           expected->curvature(frame, theory::Precision::kDouble)->apply(u)) <
            1e-9);
    REQUIRE(kernels->evaluate(-u, kT) == nullptr);
  }
}

TEST_CASE("the predictor's fluctuation is its second-order change along the directions") {
  for (const Setting& s : settings()) {
    const MatrixXd u = random_u(s.c);
    Rng rng(13, StreamPurpose::kTests);
    const MatrixXd test_features = test::random_matrix(5, s.c.features.cols(), rng);
    const MatrixXd d = 0.3 * test::random_symmetric(u.rows(), rng);
    const MatrixXd direction = numerics::symmetric_to_vector(d);
    for (KernelForm form : s.forms) {
      const auto kernels = kernels_of(s.c, form);
      const auto f = [&](double t) {
        return MatrixXd(kernels->evaluate(u + t * d, kT)->predict(test_features).mean);
      };
      const theory::MeanFluctuation fluctuation =
          kernels->evaluate(u, kT)->mean_fluctuation(u, direction, test_features);
      const double h = 1e-3;
      const MatrixXd first = (f(h) - f(-h)) / (2 * h);
      const MatrixXd second = (f(h) - 2 * f(0) + f(-h)) / (h * h);
      REQUIRE(relative_error(fluctuation.mean_shift, 0.5 * second) < 1e-3);
      REQUIRE(relative_error(fluctuation.mean_variance, first.cwiseAbs2()) < 1e-3);
    }
  }
}

TEST_CASE("the predictor's variance is curved along directions as its finite differences say") {
  for (const Setting& s : settings()) {
    const MatrixXd u = random_u(s.c);
    Rng rng(14, StreamPurpose::kTests);
    const MatrixXd test_features =
        test::random_matrix(5, s.c.features.cols(), rng) / std::sqrt(double(s.c.features.cols()));
    for (const Index count : {Index{1}, u.rows() + 1}) {  // either way to sum over directions
      MatrixXd directions(numerics::symmetric_size(u.rows()), count);
      for (Index m = 0; m < count; ++m)
        directions.col(m) = numerics::symmetric_to_vector(test::random_symmetric(u.rows(), rng));
      for (KernelForm form : s.forms) {
        CAPTURE(u.rows(), count, word_of(form));
        const auto kernels = kernels_of(s.c, form);
        const auto state = kernels->evaluate(u, kT);
        const MatrixXd shift =
            state->variance_shift(u, state->second_order_form(directions), test_features);
        MatrixXd expected = MatrixXd::Zero(shift.rows(), shift.cols());
        for (Index m = 0; m < count; ++m) {
          const MatrixXd d = numerics::vector_to_symmetric(directions.col(m), u.rows());
          const auto v = [&](double t) {
            return MatrixXd(kernels->evaluate(u + t * d, kT)->predict(test_features).variance);
          };
          // Fourth order, so that the step is large enough for rounding not to show.
          const double h = 2e-3;
          const MatrixXd near = v(h) + v(-h);
          const MatrixXd far = v(2 * h) + v(-2 * h);
          expected += 0.5 * (16 * near - far - 30 * v(0)) / (12 * h * h);
        }
        REQUIRE(shift.maxCoeff<Eigen::PropagateNaN>() < 0.0);
        REQUIRE(relative_error(shift, expected) < 1e-4);
      }
    }
  }
}

TEST_CASE("the form is chosen by size, and impossible forms are refused") {
  const test::TheoryCase wide = random_case({2}, 1, 40, 3, 1);
  REQUIRE(kernels_of(wide, KernelForm::kAuto)->form() == KernelForm::kFeatureSpace);
  REQUIRE(kernels_of(wide, KernelForm::kAuto, 0.0)->form() == KernelForm::kStored);
  const test::TheoryCase many_classes = random_case({2}, 3, 20, 3, 1);
  REQUIRE(kernels_of(many_classes, KernelForm::kAuto)->form() == KernelForm::kFeatureSpace);
  REQUIRE_THROWS_AS(kernels_of(many_classes, KernelForm::kGram, 0.0), Error);
  const test::TheoryCase classes = random_case({2}, 3, 5, 3, 1);
  REQUIRE(kernels_of(classes, KernelForm::kAuto)->form() == KernelForm::kStreamed);
  REQUIRE_THROWS_AS(kernels_of(classes, KernelForm::kStored), Error);
  REQUIRE_THROWS_AS(kernels_of(wide, KernelForm::kFeatureSpace, 0.0), Error);
  theory::PathKernelOptions small;
  small.memory_limit_bytes = 1000;
  const test::TheoryCase narrow = random_case({2, 2}, 1, 9, 5, 1);
  REQUIRE(theory::make_path_kernels(narrow.features, narrow.labels, 4, small)->form() ==
          KernelForm::kStreamed);
}

TEST_CASE("fixed-point kernels keep the energy within the tolerance, or are not used") {
  const test::TheoryCase c = random_case({3, 2}, 1, 40, 13, 6);
  const MatrixXd u = random_u(c);
  const auto exact = kernels_of(c, KernelForm::kStored);
  theory::PathKernelOptions options;
  options.form = KernelForm::kStored;
  options.compact_above_bytes = 0.0;
  // The last tolerance is out of reach, so the energy comes from the features.
  for (const double tolerance : {1e-3, 1e-6, 1e-12}) {
    options.energy_tolerance = tolerance;
    const auto compact = theory::make_path_kernels(c.features, c.labels, 6, options);
    REQUIRE(compact->form() == KernelForm::kStored);
    const auto a = exact->evaluate(u, kT);
    const auto b = compact->evaluate(u, kT);
    const double error = std::abs(b->energy() - a->energy());
    CAPTURE(tolerance, error);
    const bool rounded = tolerance > 1e-9;
    REQUIRE(error < (rounded ? tolerance : 1e-10));
    REQUIRE((error > 1e-10) == rounded);  // fixed point was really used, or not
    REQUIRE(relative_error(b->gradient, a->gradient) < (rounded ? 1e-6 : 1e-11));
    REQUIRE(relative_error(b->fisher_information(theory::Precision::kDouble),
                           a->fisher_information(theory::Precision::kDouble)) < 1e-6);
    Rng rng(12, StreamPurpose::kTests);
    const MatrixXd test_features = test::random_matrix(7, c.features.cols(), rng);
    REQUIRE(relative_error(b->predict(test_features).mean, a->predict(test_features).mean) < 1e-6);
    REQUIRE(relative_error(compact->predictive_mean(u, kT, test_features),
                           exact->predictive_mean(u, kT, test_features)) < 1e-6);
    REQUIRE(compact->evaluate(-u, kT) == nullptr);
  }
  options.energy_tolerance = 1e-3;
  options.compact_above_bytes = 1e9;  // small enough for the cache: doubles
  REQUIRE(theory::make_path_kernels(c.features, c.labels, 6, options)->cost().kernel_bytes ==
          exact->cost().kernel_bytes);
}

TEST_CASE("the gradient of fixed-point kernels is that of their own energy") {
  const test::TheoryCase c = random_case({2, 2}, 1, 30, 9, 7);
  const MatrixXd u = random_u(c);
  Rng rng(9, StreamPurpose::kTests);
  const MatrixXd d = test::random_symmetric(u.rows(), rng);
  theory::PathKernelOptions options;
  options.form = KernelForm::kStored;
  options.compact_above_bytes = 0.0;
  options.energy_tolerance = 1e-3;
  const auto compact = theory::make_path_kernels(c.features, c.labels, 4, options);
  const double h = 1e-5;
  const double slope =
      (compact->evaluate(u + h * d, kT)->energy() - compact->evaluate(u - h * d, kT)->energy()) /
      (2 * h);
  REQUIRE_THAT(compact->evaluate(u, kT)->gradient.cwiseProduct(d).sum(),
               Catch::Matchers::WithinRel(slope, 1e-7));
}

TEST_CASE("without its empty directions the kernel, the energy and predictions are the same") {
  constexpr Index kPaths = 4;
  constexpr Index kN0 = 20;
  constexpr Index kTrainDirections = 7;
  constexpr Index kTestDirections = 4;  // the last: two of them are in the test set alone
  constexpr Index kDirections = 9;
  test::TheoryCase c = random_case({2, 2}, 1, 13, kN0, 3);
  Rng rng(31, StreamPurpose::kTests);
  const MatrixXd basis = test::random_matrix(kDirections, kN0, rng);
  const auto features = [&](Index examples, Index first, Index directions) {
    MatrixXd x(examples, kN0 * kPaths);
    for (Index a = 0; a < kPaths; ++a) {
      x.middleCols(a * kN0, kN0) =
          test::random_matrix(examples, directions, rng) * basis.middleRows(first, directions);
    }
    return x;
  };
  c.features = features(13, 0, kTrainDirections);
  c.features.leftCols(kN0) *= 1e-9;  // a path that is hardly there
  MatrixXd tests = 1e5 * features(5, kDirections - kTestDirections,
                                  kTestDirections);  // must not hide what training has
  const MatrixXd all_features = c.features;
  const MatrixXd all_tests = tests;
  REQUIRE(theory::drop_empty_directions(c.features, tests, kPaths, kT) == kDirections);
  REQUIRE(c.features.cols() == kPaths * kDirections);
  const MatrixXd u = random_u(c);
  for (const KernelForm form : {KernelForm::kStored, KernelForm::kStreamed}) {
    theory::PathKernelOptions options;
    options.form = form;
    const auto full = theory::make_path_kernels(all_features, c.labels, kPaths, options);
    const auto fewer = theory::make_path_kernels(c.features, c.labels, kPaths, options);
    REQUIRE(fewer->feature_count() == kDirections);
    REQUIRE(relative_error(fewer->kernel(u), full->kernel(u)) < 1e-14);
    const auto a = full->evaluate(u, kT);
    const auto b = fewer->evaluate(u, kT);
    REQUIRE_THAT(b->energy(), Catch::Matchers::WithinRel(a->energy(), 1e-12));
    REQUIRE(relative_error(b->gradient, a->gradient) < 1e-11);
    REQUIRE(relative_error(b->hessian(), a->hessian()) < 1e-11);
    const theory::Prediction p = a->predict(all_tests);
    const theory::Prediction q = b->predict(tests);
    REQUIRE(relative_error(q.mean, p.mean) < 1e-11);
    REQUIRE(relative_error(q.variance, p.variance) < 1e-11);
  }
}

TEST_CASE("features that fill nearly all directions stay as they are") {
  Rng rng(32, StreamPurpose::kTests);
  for (const Index directions : {10, 19, 20}) {
    MatrixXd x =
        test::random_matrix(40, directions, rng) * test::random_matrix(directions, 20, rng);
    const MatrixXd before = x;
    MatrixXd none(0, 20);
    const Index kept = theory::drop_empty_directions(x, none, 1, kT);
    REQUIRE(kept == (directions == 10 ? 10 : 20));
    REQUIRE((x.cols() == 20 && x == before) == (directions != 10));
    REQUIRE(none.cols() == x.cols());
  }
  MatrixXd zero = MatrixXd::Zero(6, 8);
  MatrixXd none(0, 8);
  REQUIRE(theory::drop_empty_directions(zero, none, 2, kT) == 1);
  REQUIRE(zero.isZero());
}

TEST_CASE("a kernel that is not positive definite is a value, not a crash") {
  const test::TheoryCase c = random_case({1}, 1, 8, 3, 4);  // rank 3 < 8 examples
  REQUIRE(kernels_of(c, KernelForm::kStored)->evaluate(MatrixXd::Identity(1, 1), 0.0) == nullptr);
}
