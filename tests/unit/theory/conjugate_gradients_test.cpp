#include "theory/conjugate_gradients.hpp"

#include <Eigen/Dense>

#include "catch.hpp"
#include "headway/observer.hpp"

using namespace headway;
using namespace headway::theory;

namespace {

/// H = diag(d) without a preconditioner.
LinearSystem diagonal(const MatrixXd& d) {
  return {.apply = [d](const Tangent& x) { return Tangent{d.cwiseProduct(x.front())}; },
          .precondition = [](const Tangent& x) { return x; },
          .seen = {}};
}

TEST_CASE("conjugate gradients say why they ended") {
  const MatrixXd d = (MatrixXd(3, 1) << 1.0, 10.0, 100.0).finished();
  const Tangent b{MatrixXd::Ones(3, 1)};
  Observer observer;
  SECTION("solved: as many products as there are eigenvalues") {
    const LinearSolution solution = conjugate_gradients(diagonal(d), b, 1e-10, 4, observer);
    CHECK(solution.end == LinearEnd::kSolved);
    CHECK(solution.products == 3);
    CHECK((solution.x.front() - d.cwiseInverse()).norm() < 1e-12);
  }
  SECTION("two products are too few") {
    const LinearSolution solution = conjugate_gradients(diagonal(d), b, 1e-10, 2, observer);
    CHECK(solution.end == LinearEnd::kMostProducts);
    CHECK(solution.products == 2);
    CHECK(solution.x.front().allFinite());
  }
  SECTION("a negative eigenvalue") {
    const LinearSolution solution = conjugate_gradients(diagonal(-d), b, 1e-10, 4, observer);
    CHECK(solution.end == LinearEnd::kNegativeCurvature);
  }
}

}  // namespace
