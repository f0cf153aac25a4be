// Products of a matrix in fixed point: within the rounding that the class states, at every shape.
#include "headway/numerics/fixed_point_columns.hpp"

#include <cmath>

#include "catch.hpp"
#include "headway/core/rng.hpp"

using namespace headway;
using numerics::FixedPointColumns;

namespace {

MatrixXd random_matrix(Index rows, Index columns, Rng& rng) {
  MatrixXd a(rows, columns);
  for (double& x : a.reshaped()) x = rng.normal();
  return a;
}

FixedPointColumns fixed(const MatrixXd& a) {
  FixedPointColumns result(a.rows(), a.cols());
  for (Index j = 0; j < a.cols(); ++j) result.set_column(j, a.col(j));
  return result;
}

}  // namespace

TEST_CASE("both products are within the rounding of the entries") {
  Rng rng(3, StreamPurpose::kTests);
  const Index block = FixedPointColumns::kBlockRows;
  for (const Index rows : {Index{1}, block - 1, block, block + 1, 3 * block, 5 * block + 17}) {
    for (const Index columns : {1, 2, 7, 36}) {
      MatrixXd a = random_matrix(rows, columns, rng);
      for (Index j = 0; j < columns; ++j) a.col(j) *= std::pow(10.0, 3 * (j % 5) - 6);
      const FixedPointColumns f = fixed(a);
      REQUIRE(f.rows() == rows);
      REQUIRE(f.columns() == columns);
      VectorXd rounding(columns);
      for (Index j = 0; j < columns; ++j) rounding[j] = f.rounding(j);
      const VectorXd x = random_matrix(columns, 1, rng);
      const VectorXd y = random_matrix(rows, 1, rng);
      const double bound = rounding.dot(x.cwiseAbs());
      const double arithmetic = 1e-14 * a.cwiseAbs().maxCoeff() * x.lpNorm<1>();
      REQUIRE((f.multiply(x) - a * x).cwiseAbs().maxCoeff() <= bound + arithmetic);
      const VectorXd sums = f.multiply_transposed(y);
      for (Index j = 0; j < columns; ++j) {
        const double size = y.lpNorm<1>();
        REQUIRE(std::abs(sums[j] - a.col(j).dot(y)) <=
                size * (rounding[j] + 1e-14 * a.col(j).cwiseAbs().maxCoeff()));
      }
      // the two products belong to one matrix
      REQUIRE(std::abs(y.dot(f.multiply(x)) - x.dot(sums)) <=
              1e-13 * y.lpNorm<1>() * x.lpNorm<1>() * a.cwiseAbs().maxCoeff());
    }
  }
}

TEST_CASE("entries that are whole units are exact, and so are zero columns") {
  MatrixXd a(4, 3);
  a << 2147483647.0, 0.0, -3.0, -2147483647.0, 0.0, 1.5, 1.0, 0.0, 0.0, -7.0, 0.0, 3.0;
  const FixedPointColumns f = fixed(a);
  REQUIRE(f.rounding(0) == 0.5);
  REQUIRE(f.rounding(1) == 0.0);
  REQUIRE(f.multiply(Eigen::Vector3d(1.0, 5.0, 0.0)) == a.col(0));
  REQUIRE(f.multiply_transposed(VectorXd::Unit(4, 3))[0] == -7.0);
  REQUIRE(f.multiply(Eigen::Vector3d(0.0, 0.0, 1.0))[0] == -3.0);
}
