// Frames of U, and kernels in feature space at every condition number of U.
#include "theory/frame.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <optional>

#include "catch.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::kernels_of;
using test::random_case;
using test::random_matrix;
using test::relative_error;
using theory::KernelForm;

namespace {

constexpr double kT = 0.05;

/// Smallest eigenvalues of a U whose largest is 1: well conditioned, nearly singular at full rank
/// to working precision (7e-16), and singular.
constexpr double kSmallest[] = {1e-2, 1e-8, 3e-14, 1e-14, 3e-15, 1e-15, 1e-17, 0.0};

/// Eigenvalues 1, 1/2 and `smallest`, along the axes or along random directions.
MatrixXd u_of(double smallest, bool along_axes) {
  Rng rng(33, StreamPurpose::kTests);
  const MatrixXd q = Eigen::HouseholderQR<MatrixXd>(random_matrix(3, 3, rng)).householderQ();
  const VectorXd values = Eigen::Vector3d(1.0, 0.5, smallest);
  if (along_axes) return values.asDiagonal();
  const MatrixXd u = q * values.asDiagonal() * q.transpose();
  return 0.5 * (u + u.transpose());
}

}  // namespace

TEST_CASE("a frame gives U, and says whether it can be divided by") {
  for (const double smallest : kSmallest) {
    for (const bool along_axes : {false, true}) {
      const MatrixXd u = u_of(smallest, along_axes);
      const std::optional<theory::Frame> frame = theory::frame_of(u);
      REQUIRE(frame);
      CHECK(relative_error(frame->matrix * frame->matrix.transpose(), u) < 1e-14);
      if (smallest >= 1e-8) CHECK(frame->invertible);
      if (smallest <= 1e-15) CHECK_FALSE(frame->invertible);
      if (frame->invertible) CHECK(frame->matrix.isLowerTriangular(0.0));
    }
  }
  CHECK_FALSE(theory::frame_of(-MatrixXd::Identity(3, 3)));
}

TEST_CASE("feature-space kernels agree with stored ones at every condition number of U") {
  const test::TheoryCase c = random_case({3}, 1, 30, 2, 3);
  const auto reference_kernels = kernels_of(c, KernelForm::kStored);
  Rng rng(34, StreamPurpose::kTests);
  const MatrixXd e = test::random_symmetric(3, rng);
  for (const double smallest : kSmallest) {
    for (const bool along_axes : {false, true}) {
      const MatrixXd u = u_of(smallest, along_axes);
      const auto reference = reference_kernels->evaluate(u, kT);
      const theory::Frame frame = *theory::frame_of(u);
      // Dividing by F loses the digits of the condition number.
      const double allowed = frame.invertible ? std::max(1e-10, 2e-16 / smallest) : 1e-10;
      for (const KernelForm form : {KernelForm::kFeatureSpace, KernelForm::kGram}) {
        const auto state = kernels_of(c, form)->evaluate(u, kT);
        CAPTURE(smallest, along_axes);
        REQUIRE_THAT(state->energy(), Catch::Matchers::WithinRel(reference->energy(), 1e-11));
        CHECK(relative_error(state->gradient, reference->gradient) < allowed);
        CHECK(relative_error(state->projected_dual(), reference->projected_dual()) < allowed);
        CHECK(relative_error(state->hessian(), reference->hessian()) < allowed);
        if (frame.matrix.cols() < 3) continue;
        const auto products = state->curvature(frame.matrix, theory::Precision::kDouble);
        const auto expected = reference->curvature(frame.matrix, theory::Precision::kDouble);
        CHECK(relative_error(products->apply(e), expected->apply(e)) < allowed);
      }
    }
  }
}
