#include "headway/theory/entropy.hpp"

#include <cmath>

#include "catch.hpp"
#include "headway/action.hpp"
#include "headway/numerics/symmetric.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::random_case;
using test::relative_error;

namespace {

double entropy_value(const model::Architecture& a, const theory::OrderParameters& u) {
  return theory::evaluate_entropy(a, u)->value;
}

theory::OrderParameters moved(const theory::OrderParameters& u, const theory::OrderParameters& d,
                              double t) {
  theory::OrderParameters result = u;
  for (int l = 1; l <= static_cast<int>(u.layers.size()) + 1; ++l) result.at(l) += t * d.at(l);
  return result;
}

theory::OrderParameters random_direction(const theory::OrderParameters& u, Rng& rng) {
  theory::OrderParameters d = u;
  for (int l = 1; l <= static_cast<int>(u.layers.size()) + 1; ++l)
    d.at(l) = test::random_symmetric(u.at(l).rows(), rng);
  return d;
}

std::vector<MatrixXd> as_list(const theory::OrderParameters& u) {
  std::vector<MatrixXd> list = u.layers;
  list.push_back(u.readout);
  return list;
}

const std::vector<std::vector<int>> kHeads = {{1}, {3}, {2, 2}, {2, 1, 3}};

}  // namespace

TEST_CASE("entropy gradient, Hessian and third derivatives agree with finite differences") {
  for (const std::vector<int>& heads : kHeads) {
    for (Index outputs : {1, 2}) {
      const test::TheoryCase c = random_case(heads, outputs, 4, 3, 11);
      Rng rng(3, StreamPurpose::kTests);
      const theory::OrderParameters u = test::random_order_parameters(c.architecture, rng);
      const theory::OrderParameters d = random_direction(u, rng);
      const VectorXd dv = theory::to_vector(as_list(d));
      const theory::Entropy at = *theory::evaluate_entropy(c.architecture, u);

      const double h = 1e-5;
      const double slope = (entropy_value(c.architecture, moved(u, d, h)) -
                            entropy_value(c.architecture, moved(u, d, -h))) /
                           (2 * h);
      REQUIRE_THAT(theory::to_vector(at.gradient).dot(dv), Catch::Matchers::WithinRel(slope, 1e-7));

      const VectorXd up =
          theory::to_vector(theory::evaluate_entropy(c.architecture, moved(u, d, h))->gradient);
      const VectorXd down =
          theory::to_vector(theory::evaluate_entropy(c.architecture, moved(u, d, -h))->gradient);
      const VectorXd curvature = theory::entropy_hessian(c.architecture, u) * dv;
      REQUIRE(relative_error(curvature, (up - down) / (2 * h)) < 1e-7);

      const double g = 1e-3;
      const VectorXd far_up =
          theory::to_vector(theory::evaluate_entropy(c.architecture, moved(u, d, g))->gradient);
      const VectorXd far_down =
          theory::to_vector(theory::evaluate_entropy(c.architecture, moved(u, d, -g))->gradient);
      const VectorXd second = (far_up - 2 * theory::to_vector(at.gradient) + far_down) / (g * g);
      const VectorXd third =
          theory::to_vector(theory::entropy_gradient_second_derivative(c.architecture, u, d));
      REQUIRE(relative_error(third, second) < 1e-3);
    }
  }
}

TEST_CASE("closed-form elimination is where the entropy's gradient in U_2..U_a vanishes") {
  for (const std::vector<int>& heads : kHeads) {
    for (Index outputs : {1, 3}) {
      const test::TheoryCase c = random_case(heads, outputs, 4, 3, 5);
      Rng rng(4, StreamPurpose::kTests);
      theory::OrderParameters u = test::random_order_parameters(c.architecture, rng);
      theory::eliminate_upper_layers(c.architecture, u);
      const theory::Entropy s = *theory::evaluate_entropy(c.architecture, u);
      for (std::size_t l = 1; l < s.gradient.size(); ++l)
        REQUIRE(s.gradient[l].cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-9);
    }
  }
}

TEST_CASE("with one layer and one output U_a is the positive root of its quadratic") {
  const test::TheoryCase c = random_case({3}, 1, 4, 3, 5);
  Rng rng(4, StreamPurpose::kTests);
  theory::OrderParameters u = test::random_order_parameters(c.architecture, rng);
  theory::eliminate_upper_layers(c.architecture, u);
  const double sa2 = c.architecture.variance(2);
  const double sl2 = c.architecture.variance(1);
  const double nl = c.architecture.width(1);
  const double na = c.architecture.width(2);
  const double b = sa2 * (3 * nl / na - 1);
  const double q = nl * sa2 / (na * sl2) * u.layers[0].trace();
  REQUIRE_THAT(u.readout(0, 0),
               Catch::Matchers::WithinRel(0.5 * (-b + std::sqrt(b * b + 4 * q)), 1e-12));
}

TEST_CASE(
    "the Gaussian-process order parameters are the entropy's minimum; an indefinite U has no "
    "entropy") {
  const test::TheoryCase c = random_case({2, 3}, 2, 4, 3, 5);
  theory::OrderParameters u = theory::gaussian_process_order_parameters(c.architecture);
  const theory::Entropy s = *theory::evaluate_entropy(c.architecture, u);
  for (const MatrixXd& g : s.gradient)
    REQUIRE(g.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-11);
  REQUIRE_THAT(u.layers[0](0, 0),
               Catch::Matchers::WithinRel(c.architecture.variance(1) * c.architecture.variance(2) *
                                              c.architecture.variance(3),
                                          1e-14));
  u.layers[1](0, 0) = -1.0;
  REQUIRE_FALSE(theory::evaluate_entropy(c.architecture, u).has_value());
}

TEST_CASE("the action is entropy and energy, and infinite where there is neither") {
  for (const std::vector<int>& heads : kHeads) {
    const test::TheoryCase c = random_case(heads, 2, 4, 3, 11);
    Rng rng(3, StreamPurpose::kTests);
    theory::OrderParameters u = test::random_order_parameters(c.architecture, rng);
    const theory::Action action(c.architecture, 0.2,
                                test::kernels_of(c, theory::KernelForm::kStreamed));
    const theory::Action::Evaluation at = action.evaluate(u);
    const theory::Entropy entropy = *theory::evaluate_entropy(c.architecture, u);
    REQUIRE(at.energy != nullptr);
    CHECK(at.entropy == entropy.value);
    CHECK_THAT(at.value,
               Catch::Matchers::WithinRel(
                   entropy.value + test::reference_energy(c, u.layers.front(), 0.2), 1e-11));
    REQUIRE(at.gradient.size() == heads.size() + 1);
    for (std::size_t l = 1; l < at.gradient.size(); ++l) {
      CHECK(at.gradient[l] == entropy.gradient[l]);  // the energy knows U_1 alone
    }
    CHECK(relative_error(at.gradient[0] - entropy.gradient[0], at.energy->gradient) < 1e-12);
    for (int l = 1; l <= static_cast<int>(heads.size()) + 1; ++l) {
      theory::OrderParameters indefinite = u;
      indefinite.at(l)(0, 0) = -1.0;
      const theory::Action::Evaluation none = action.evaluate(indefinite);
      CHECK(none.energy == nullptr);
      CHECK(none.value == HUGE_VAL);
    }
  }
}
