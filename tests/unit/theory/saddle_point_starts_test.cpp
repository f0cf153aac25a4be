// What a saddle point is looked for with, and from where: the optimizer that is chosen, random
// starts, and starts that are refused.
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/saddle_point.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::kernels_of;
using test::random_case;
using test::relative_error;
using theory::KernelForm;

namespace {

/// Small kernels that say they are large: what a solver takes for them depends on that alone.
class SaidToBe final : public theory::PathKernels {
 public:
  SaidToBe(const theory::KernelSizes& sizes, KernelForm form,
           std::shared_ptr<const theory::PathKernels> small)
      : PathKernels(sizes, 1, form), small_(std::move(small)) {}
  [[nodiscard]] std::unique_ptr<theory::EnergyState> evaluate(const MatrixXd& u,
                                                              double temperature) const override {
    return small_->evaluate(u, temperature);
  }
  [[nodiscard]] MatrixXd predictive_mean(const MatrixXd& u, double temperature,
                                         const MatrixXd& test_features) const override {
    return small_->predictive_mean(u, temperature, test_features);
  }

 private:
  std::shared_ptr<const theory::PathKernels> small_;
};

class StopAtOnce final : public Observer {
 public:
  [[nodiscard]] bool interrupted() const override { return true; }
};

}  // namespace

TEST_CASE("many paths get Newton-CG, and Hessians that cost much get quasi-Newton") {
  StopAtOnce stop;
  const auto chosen = [&](int heads, Index examples, Index n0, KernelForm form) {
    const test::TheoryCase c = random_case({heads}, 1, 4, 2, 5);
    const theory::Action action(
        c.architecture, 0.05,
        std::make_shared<SaidToBe>(theory::KernelSizes{examples, heads, n0, 1}, form,
                                   kernels_of(c, KernelForm::kStreamed)));
    const theory::SaddlePointSummary summary =
        theory::solve_saddle_point(
            action, theory::gaussian_process_order_parameters(c.architecture), {}, stop)
            .summary;
    CHECK(summary.message == "interrupted");
    CHECK(summary.evaluations == 1);
    CHECK(summary.hessians + summary.products == 0);
    return summary.optimizer;
  };
  CHECK(chosen(4, 100, 10, KernelForm::kStreamed) == "newton");
  CHECK(chosen(16, 1000, 20, KernelForm::kStored) == "newton");
  CHECK(chosen(100, 30, 2, KernelForm::kStreamed) == "newton_cg");
  CHECK(chosen(110, 30, 2, KernelForm::kStreamed) == "newton_cg");  // too many for any Hessian
  // A Hessian costs as much as 22 or 30 evaluations, and products even more.
  CHECK(chosen(16, 3000, 800, KernelForm::kStored) == "quasi_newton");
  CHECK(chosen(64, 10000, 800, KernelForm::kStored) == "quasi_newton");
}

TEST_CASE("a random start is F exp(D) F^T, with the same D in all units, and U itself without D") {
  const test::TheoryCase c = random_case({2, 3}, 2, 4, 3, 7);
  Rng drawing(9, StreamPurpose::kTests);
  const theory::OrderParameters u = test::random_order_parameters(c.architecture, drawing);
  const auto start = [&](const theory::OrderParameters& about, double spread) {
    Rng rng(4, StreamPurpose::kSolverStart);
    return theory::perturb_order_parameters(about, spread, rng);
  };
  const theory::OrderParameters still = start(u, 0.0);
  for (int l = 1; l <= 3; ++l) CHECK(relative_error(still.at(l), u.at(l)) < 1e-13);
  const theory::OrderParameters moved = start(u, 0.7);
  theory::OrderParameters larger = u;
  for (int l = 1; l <= 3; ++l) larger.at(l) *= 3.0;
  const theory::OrderParameters of_larger = start(larger, 0.7);
  Rng rng(4, StreamPurpose::kSolverStart);
  for (int l = 1; l <= 3; ++l) {
    CAPTURE(l);
    CHECK(relative_error(of_larger.at(l), 3.0 * moved.at(l)) < 1e-13);
    CHECK(moved.at(l) == moved.at(l).transpose());
    // D is what is left between the factors, entry by entry in svec order.
    const Index n = u.at(l).rows();
    const MatrixXd inverse = u.at(l).llt().matrixL().solve(MatrixXd::Identity(n, n));
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(inverse * moved.at(l) *
                                                        inverse.transpose());
    REQUIRE(eigen.eigenvalues().minCoeff<Eigen::PropagateNaN>() > 0.0);
    const MatrixXd d = eigen.eigenvectors() *
                       eigen.eigenvalues().array().log().matrix().asDiagonal() *
                       eigen.eigenvectors().transpose();
    const double scale = 0.7 / std::sqrt(static_cast<double>(n));
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) {
        const double entry = scale * rng.normal() / (i == j ? 1.0 : std::sqrt(2.0));
        CHECK_THAT(d(i, j), Catch::Matchers::WithinAbs(entry, 1e-11));
      }
    }
  }
}

TEST_CASE("starts and temperatures that no action has are refused, with what is allowed") {
  const test::TheoryCase c = random_case({2, 3}, 2, 8, 3, 4);
  const theory::Action action(c.architecture, 0.05, kernels_of(c, KernelForm::kStreamed));
  const theory::OrderParameters good = theory::gaussian_process_order_parameters(c.architecture);
  Observer observer;
  const auto refusal = [&](const auto& change) -> std::string {
    theory::OrderParameters start = good;
    change(start);
    try {
      theory::solve_saddle_point(action, start, {}, observer);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      return error.what();
    }
    return "none";
  };
  CHECK(refusal([](auto&) {}) == "none");
  CHECK(refusal([](auto& u) { u.layers.pop_back(); }) ==
        "order parameters: there are 2: must be 3 matrices, U_1 to U_2 and U_a");
  CHECK(refusal([](auto& u) { u.at(1) = MatrixXd::Identity(11, 11); }) ==
        "order parameters: U_1 is 11 x 11: must be 12 x 12");
  CHECK(refusal([](auto& u) { u.at(2) = MatrixXd::Identity(6, 5); }) ==
        "order parameters: U_2 is 6 x 5: must be 6 x 6");
  CHECK(refusal([](auto& u) { u.at(2) = MatrixXd::Identity(5, 6); }) ==
        "order parameters: U_2 is 5 x 6: must be 6 x 6");
  CHECK(refusal([](auto& u) { u.at(3) = MatrixXd::Identity(1, 1); }) ==
        "order parameters: U_a is 1 x 1: must be 2 x 2");
  CHECK(refusal([](auto& u) { u.at(1)(0, 0) = -1.0; }) ==
        "model.temperature = 0.05: K + T I is not positive definite at the start: must be larger, "
        "or there must be more features than examples");
  const auto kernels = kernels_of(c, KernelForm::kStreamed);
  for (const double temperature : {-0.5, HUGE_VAL, std::nan("")}) {
    CHECK_THROWS_WITH(
        theory::Action(c.architecture, temperature, kernels),
        fmt::format("model.temperature = {}: must be a finite number >= 0", temperature));
  }
  model::Architecture other = c.architecture;
  other.heads = {2, 2};
  CHECK_THROWS_WITH(
      theory::Action(other, 0.1, kernels),
      "the architecture has 4 paths and 2 outputs, but the path kernels have 6 and 2");
  other = c.architecture;
  other.outputs = 3;
  CHECK_THROWS_WITH(
      theory::Action(other, 0.1, kernels),
      "the architecture has 6 paths and 3 outputs, but the path kernels have 6 and 2");
}
