// Columns are scaled to unit size, but for those that are constant up to rounding.
#include "headway/analysis/standardisation.hpp"

#include <cmath>

#include "catch.hpp"
#include "headway/core/rng.hpp"

using namespace headway;
using analysis::Standardisation;
using Catch::Matchers::WithinRel;

namespace {

VectorXd drawn(Index rows, std::uint64_t stream) {
  Rng rng(8, StreamPurpose::kTests, stream);
  VectorXd out(rows);
  for (double& x : out) x = rng.normal();
  return out;
}

/// What a network in float32 may make of a constant: sums of it in another order for each example.
VectorXd constant_in_float32(Index rows, float constant) {
  VectorXd out(rows);
  for (Index i = 0; i < rows; ++i) {
    out(i) = constant;
    for (Index k = 0; k < i % 4; ++k) {
      out(i) = std::nextafter(static_cast<float>(out(i)), 2.0F * constant);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("standardised columns have mean 0 and unit size") {
  MatrixXd x(50, 3);
  x << (3.0 * drawn(50, 0)).array() + 7.0, 1e-100 * drawn(50, 1), 1e9 * drawn(50, 2);
  const MatrixXd z = Standardisation(x, 1e-6).apply(x);
  CHECK(z.colwise().mean().cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-13);
  for (Index j : {0, 1, 2}) CHECK_THAT(z.col(j).squaredNorm() / 50.0, WithinRel(1.0, 1e-12));
}

TEST_CASE("a column that is constant but for rounding is 0, also where new vectors vary in it") {
  for (const double constant : {0.0, 0.1, -0.3, 0.5, 1.7, 1e8 / 3.0}) {
    CAPTURE(constant);
    MatrixXd x(100, 3);
    x << drawn(100, 0), VectorXd::Constant(100, constant),
        constant_in_float32(100, static_cast<float>(constant) + 1.0F);
    const Standardisation s(x, 1e-6);
    CHECK(s.apply(x).rightCols(2).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() == 0.0);
    CHECK(s.apply(x).col(0).squaredNorm() > 99.0);
    MatrixXd moved = x;
    moved.rightCols(2).array() += 5.0;
    CHECK(s.apply(moved).rightCols(2).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() == 0.0);
  }
}

TEST_CASE("a column that varies by a hundred-thousandth of its mean counts") {
  for (const double size : {1.0, -40.0}) {
    MatrixXd x(100, 1);
    x << size * (1.0 + 1e-5 * drawn(100, 3).array());
    CHECK_THAT(Standardisation(x, 1e-6).apply(x).squaredNorm(), WithinRel(100.0, 1e-6));
    CHECK(Standardisation(x, 1e-4).apply(x).squaredNorm() == 0.0);
  }
}
