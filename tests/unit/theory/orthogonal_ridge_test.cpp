// Eq. 78 against matrices over examples, and what those cannot hold.
#include "headway/theory/orthogonal_ridge.hpp"

#include <Eigen/LU>

#include "catch.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/theory/empty_directions.hpp"
#include "theory_problems.hpp"

using namespace headway;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using test::kernels_of;
using test::random_case;
using test::relative_error;
using theory::KernelForm;
using theory::OrthogonalRidge;

TEST_CASE("the energy, A W, alpha and variances of both shapes of W are those of K + T") {
  Rng rng(1, StreamPurpose::kTests);
  constexpr double kT = 0.3;
  const std::vector<std::pair<Index, Index>> shapes = {{8, 5}, {5, 8}, {6, 6}};
  for (const auto& [rows, columns] : shapes) {
    const MatrixXd w = test::random_matrix(rows, columns, rng);
    const VectorXd y = test::random_matrix(rows, 1, rng);
    const MatrixXd tests = test::random_matrix(4, columns, rng);
    const auto ridge = OrthogonalRidge::factor(w, y, kT);
    REQUIRE(ridge);
    const MatrixXd k = w * w.transpose() + kT * MatrixXd::Identity(rows, rows);
    const MatrixXd a = k.inverse();
    REQUIRE_THAT(ridge->log_determinant(), WithinRel(std::log(k.determinant()), 1e-12));
    REQUIRE_THAT(ridge->quadratic(), WithinRel(y.dot(a * y), 1e-12));
    REQUIRE(relative_error(ridge->solved(), a * w) < 1e-13);
    REQUIRE(relative_error(ridge->dual(), a * y) < 1e-13);
    REQUIRE(relative_error(ridge->told(), w.transpose() * a * y) < 1e-13);
    REQUIRE(relative_error(ridge->half().transpose() * ridge->half(), w.transpose() * a * w) <
            1e-13);
    const MatrixXd cross = w * tests.transpose();
    const VectorXd variance =
        tests.rowwise().squaredNorm() - (cross.transpose() * a * cross).diagonal();
    REQUIRE(relative_error(ridge->variance(tests), variance) < 1e-12);
    const MatrixXd whitened = ridge->whiten(k);
    REQUIRE(relative_error(whitened.transpose() * whitened, k) < 1e-12);
    const auto more = OrthogonalRidge::factor(w, y, kT, 3, 2.0);
    REQUIRE_THAT(more->quadratic(), WithinRel(ridge->quadratic() + 2.0 / kT, 1e-12));
    REQUIRE_THAT(more->log_determinant(),
                 WithinRel(ridge->log_determinant() + 3 * std::log(kT), 1e-12));
  }
}

TEST_CASE("at T = 0 a kernel of full rank has its energy, and others have none") {
  Rng rng(2, StreamPurpose::kTests);
  MatrixXd w = test::random_matrix(4, 7, rng);
  const VectorXd y = test::random_matrix(4, 1, rng);
  const MatrixXd k = w * w.transpose();
  REQUIRE_THAT(OrthogonalRidge::factor(w, y, 0.0)->quadratic(),
               WithinRel(y.dot(k.inverse() * y), 1e-11));
  REQUIRE_FALSE(OrthogonalRidge::factor(w.leftCols(3), y, 0.0));
  w.row(1) = w.row(0);
  REQUIRE_FALSE(OrthogonalRidge::factor(w, y, 0.0));
}

namespace {

/// A case whose last feature is constant in units of `size`: T alone tells of the direction.
test::TheoryCase with_large_feature(std::vector<int> heads, Index outputs, Index examples,
                                    double size) {
  test::TheoryCase c = random_case(std::move(heads), outputs, examples, 3, 4);
  for (Index a = 0; a < c.architecture.paths(); ++a) c.features.col(a * 3 + 2) *= size;
  return c;
}

}  // namespace

TEST_CASE("beside a feature of 1e8 every form has the digits of features of size 1") {
  // K of examples that share one feature z of size s: as s grows, the energy less 2 P_z log s tends
  // to a limit, and differs from it by 1 / s^2. At s = 1e4 nothing is lost yet.
  constexpr double kT = 1e-3;
  for (const Index outputs : {1, 2}) {
    const test::TheoryCase near = with_large_feature({2}, outputs, 9, 1e4);
    const test::TheoryCase far = with_large_feature({2}, outputs, 9, 1e8);
    const Index order = near.architecture.paths() * outputs;
    Rng rng(5, StreamPurpose::kTests);
    const MatrixXd u = test::random_spd(order, rng);
    for (const KernelForm form : test::forms_of(near, kT)) {
      if (form == KernelForm::kGram) continue;
      const auto a = kernels_of(near, form, kT)->evaluate(u, kT);
      const auto b = kernels_of(far, form, kT)->evaluate(u, kT);
      REQUIRE(a);
      REQUIRE(b);
      // Both paths have the feature in each output: 2 log s for each of them.
      const double logs = 2.0 * static_cast<double>(order) * std::log(1e4);
      CHECK_THAT(b->energy() - logs, WithinRel(a->energy(), 1e-6));
      CHECK(relative_error(b->gradient, a->gradient) < 1e-6);
      CHECK(b->relative_rounding < 1e-6);
      CHECK(relative_error(b->hessian(), a->hessian()) < 1e-5);
      const MatrixXd unit = MatrixXd::Identity(order, order);
      const MatrixXd e = test::random_symmetric(order, rng);
      const auto p = a->curvature(unit, theory::Precision::kDouble);
      const auto q = b->curvature(unit, theory::Precision::kDouble);
      CHECK(relative_error(q->apply(e), p->apply(e)) < 1e-5);
      CHECK(relative_error(q->apply_twice(e), p->apply_twice(e)) < 1e-5);
    }
  }
}

TEST_CASE("derivatives by orthogonal transformations agree with finite differences") {
  const test::TheoryCase c = with_large_feature({2, 2}, 1, 8, 1e7);
  constexpr double kT = 1e-6;
  Rng rng(6, StreamPurpose::kTests);
  const MatrixXd u = test::random_spd(4, rng);
  const MatrixXd d = test::random_symmetric(4, rng);
  const VectorXd dv = numerics::symmetric_to_vector(d);
  const auto kernels = kernels_of(c, KernelForm::kStreamed, kT);
  const auto at = [&](double t) { return kernels->evaluate(u + t * d, kT); };
  const auto state = at(0.0);
  const double h = 1e-4;
  CHECK_THAT(state->gradient.cwiseProduct(d).sum(),
             WithinRel((at(h)->energy() - at(-h)->energy()) / (2 * h), 1e-5));
  const MatrixXd slope = (at(h)->gradient - at(-h)->gradient) / (2 * h);
  CHECK(relative_error(state->hessian() * dv, numerics::symmetric_to_vector(slope)) < 1e-5);
  const MatrixXd curvature = (at(h)->gradient - 2.0 * state->gradient + at(-h)->gradient) / (h * h);
  CHECK(relative_error(state->contract_third_derivative(dv * dv.transpose()), curvature) < 1e-3);
}

TEST_CASE("a direction that is small beside a feature of 1e8 is not empty") {
  Rng rng(7, StreamPurpose::kTests);
  MatrixXd x = test::random_matrix(30, 5, rng);
  x.col(0) *= 1e8;
  MatrixXd none(0, 5);
  REQUIRE(theory::drop_empty_directions(x, none, 1, 0.1) == 5);
  REQUIRE(theory::drop_empty_directions(x, none, 1, 0.0) == 5);
  x.col(0) *= 1e-20;  // what is nothing beside T is dropped, whatever its size
  x.col(1) *= 1e-12;
  REQUIRE(theory::drop_empty_directions(x, none, 1, 0.1) == 3);
}
