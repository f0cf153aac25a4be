#include "headway/theory/action_curvature.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"
#include "headway/numerics/symmetric.hpp"
#include "larger.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::kernels_of;
using test::random_case;
using test::relative_error;
using theory::Tangent;

namespace {

constexpr double kT = 0.05;

struct Point {
  theory::Action action;
  theory::OrderParameters u;
  theory::Action::Evaluation evaluation;
};

Point point_of(const test::TheoryCase& c, theory::KernelForm form) {
  Rng rng(3, StreamPurpose::kTests);
  Point p{theory::Action(c.architecture, kT, kernels_of(c, form)),
          test::random_order_parameters(c.architecture, rng),
          {}};
  p.evaluation = p.action.evaluate(p.u);
  return p;
}

Tangent random_direction(const Point& p) {
  Rng rng(4, StreamPurpose::kTests);
  return theory::random_tangent(p.evaluation.gradient, rng);
}

/// A direction as the dense Hessian sees it, and a gradient back in geodesic coordinates.
VectorXd to_dense(const theory::ActionCurvature& curvature, const Tangent& e) {
  const theory::OrderParameters d = curvature.to_direction(e);
  std::vector<MatrixXd> list = d.layers;
  list.push_back(d.readout);
  return theory::to_vector(list);
}

Tangent from_dense(const Point& p, const theory::ActionCurvature& curvature, const VectorXd& g) {
  const theory::OrderParameters as_matrices = theory::to_order_parameters(g, p.u);
  std::vector<MatrixXd> list = as_matrices.layers;
  list.push_back(as_matrices.readout);
  return curvature.to_tangent(list);
}

double difference(const Tangent& a, const Tangent& b) {
  double largest = 0.0;
  for (std::size_t l = 0; l < a.size(); ++l)
    largest = headway::testing::larger(largest, relative_error(a[l], b[l]));
  return largest;
}

}  // namespace

TEST_CASE("products with the Hessian are those of the dense one, for every form and architecture") {
  for (const auto& [heads, outputs] : std::vector<std::pair<std::vector<int>, Index>>{
           {{1}, 1}, {{3}, 1}, {{2, 2}, 1}, {{2, 1, 3}, 1}, {{2, 2}, 2}}) {
    const test::TheoryCase c = random_case(heads, outputs, 30, 4, 11);
    std::vector<theory::KernelForm> forms = {theory::KernelForm::kStreamed};
    if (outputs == 1) forms.push_back(theory::KernelForm::kStored);
    forms.push_back(theory::KernelForm::kFeatureSpace);
    forms.push_back(theory::KernelForm::kGram);
    for (const theory::KernelForm form : forms) {
      const Point p = point_of(c, form);
      const theory::ActionCurvature curvature(p.action, p.u, p.evaluation,
                                              theory::Precision::kDouble);
      const Tangent e = random_direction(p);
      const MatrixXd dense = p.action.hessian(p.u, *p.evaluation.energy);
      const VectorXd expected = dense * to_dense(curvature, e);
      CHECK(difference(curvature.hessian(e), from_dense(p, curvature, expected)) < 1e-10);
      const theory::ActionCurvature single(p.action, p.u, p.evaluation, theory::Precision::kSingle);
      CHECK(difference(single.hessian(e), curvature.hessian(e)) < 1e-4);
    }
  }
}

TEST_CASE("the Hessian along geodesics is the second difference of the action along them") {
  const test::TheoryCase c = random_case({2, 3}, 1, 20, 4, 12);
  const Point p = point_of(c, theory::KernelForm::kStreamed);
  const theory::ActionCurvature curvature(p.action, p.u, p.evaluation, theory::Precision::kDouble);
  const Tangent e = random_direction(p);
  const auto action_at = [&](double t) {
    theory::OrderParameters u = p.u;
    for (std::size_t l = 0; l < e.size(); ++l) {
      u.at(static_cast<int>(l) + 1) = curvature.frames()[l] *
                                      numerics::symmetric_exponential(t * e[l]) *
                                      curvature.frames()[l].transpose();
    }
    return p.action.evaluate(u).value;
  };
  const double h = 1e-3;
  const double second = (16 * (action_at(h) + action_at(-h)) - action_at(2 * h) -
                         action_at(-2 * h) - 30 * action_at(0)) /
                        (12 * h * h);
  CHECK_THAT(theory::inner_product(e, curvature.geodesic_hessian(e)),
             Catch::Matchers::WithinRel(second, 1e-6));
  CHECK_THAT(theory::inner_product(e, curvature.gradient()),
             Catch::Matchers::WithinRel((action_at(h) - action_at(-h)) / (2 * h), 1e-3));
}

TEST_CASE("third derivatives along a direction are second differences of the gradient") {
  for (const Index outputs : {1, 2}) {
    const test::TheoryCase c = random_case({2, 2}, outputs, 12, 4, 13);
    const Point p = point_of(c, theory::KernelForm::kStreamed);
    const theory::ActionCurvature curvature(p.action, p.u, p.evaluation,
                                            theory::Precision::kDouble);
    Tangent e = random_direction(p);
    for (MatrixXd& m : e) m *= 0.3;
    const theory::OrderParameters d = curvature.to_direction(e);
    const auto gradient_at = [&](double t) {
      theory::OrderParameters u = p.u;
      for (int l = 1; l <= static_cast<int>(e.size()); ++l) u.at(l) += t * d.at(l);
      return theory::to_vector(p.action.evaluate(u).gradient);
    };
    const double h = 1e-3;
    const VectorXd second = (16 * (gradient_at(h) + gradient_at(-h)) - gradient_at(2 * h) -
                             gradient_at(-2 * h) - 30 * gradient_at(0)) /
                            (12 * h * h);
    CHECK(difference(curvature.third_derivative(e), from_dense(p, curvature, second)) < 1e-4);
  }
}
