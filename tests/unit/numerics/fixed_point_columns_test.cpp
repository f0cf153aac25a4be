// Products of a matrix in fixed point: within the rounding that the class states, at every shape.
#include "headway/numerics/fixed_point_columns.hpp"

#include <cmath>
#include <utility>

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
  for (Index j = 0; j < a.cols(); ++j) {
    Rng rng(0, StreamPurpose::kRounding, static_cast<std::uint64_t>(j));
    result.set_column(j, a.col(j), rng);
  }
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
      REQUIRE(f.columns() == columns);
      VectorXd unit(columns);
      for (Index j = 0; j < columns; ++j) unit[j] = f.error_scale(VectorXd::Unit(columns, j));
      const VectorXd x = random_matrix(columns, 1, rng);
      const VectorXd y = random_matrix(rows, 1, rng);
      const double bound = unit.dot(x.cwiseAbs());
      const double arithmetic = 1e-14 * a.cwiseAbs().maxCoeff() * x.lpNorm<1>();
      REQUIRE((f.multiply(x) - a * x).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <=
              bound + arithmetic);
      const VectorXd sums = f.multiply_transposed(y);
      for (Index j = 0; j < columns; ++j) {
        const double size = y.lpNorm<1>();
        REQUIRE(std::abs(sums[j] - a.col(j).dot(y)) <=
                size * (unit[j] + 1e-14 * a.col(j).cwiseAbs().maxCoeff()));
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
  REQUIRE(f.error_scale(VectorXd::Unit(3, 0)) == 1.0);
  REQUIRE(f.error_scale(VectorXd::Unit(3, 1)) == 0.0);
  REQUIRE(f.error_scale(Eigen::Vector3d(-2.0, 5.0, 0.0)) == 2.0);
  REQUIRE(f.multiply(Eigen::Vector3d(1.0, 5.0, 0.0)) == a.col(0));
  REQUIRE(f.multiply_transposed(VectorXd::Unit(4, 3))[0] == -7.0);
  REQUIRE(f.multiply(Eigen::Vector3d(0.0, 0.0, 1.0))[0] == -3.0);
}

TEST_CASE(
    "rounding is unbiased and independent: errors of products stay within Hoeffding's scale") {
  // Entries of 0.3 and 0.5 units beside the largest. Rounded to the nearest, every error would be
  // the same.
  constexpr Index kRows = 4001;
  constexpr Index kColumns = 200;
  MatrixXd a = MatrixXd::Constant(kRows, kColumns, 1000.3);
  a.rightCols(kColumns / 2).setConstant(-77.5);
  a.row(0).setConstant(2147483647.0);  // a unit of 1
  const FixedPointColumns f = fixed(a);
  const VectorXd y = VectorXd::Ones(kRows);
  const VectorXd x = VectorXd::Ones(kColumns);
  const VectorXd errors = f.multiply_transposed(y) - a.transpose() * y;
  // each column's error is a sum of kRows - 1 errors of variance 0.3 * 0.7 and 0.25
  for (const auto& [half, variance] : {std::pair<VectorXd, double>{errors.head(kColumns / 2), 0.21},
                                       {errors.tail(kColumns / 2), 0.25}}) {
    const double deviation = std::sqrt(variance * static_cast<double>(kRows - 1));
    const double columns = static_cast<double>(half.size());
    REQUIRE(std::abs(half.mean()) < 5.0 * deviation / std::sqrt(columns));
    const double ratio = half.squaredNorm() / (columns * deviation * deviation);
    REQUIRE(std::abs(ratio - 1.0) < 5.0 * std::sqrt(2.0 / columns));
  }
  // over columns too: 2 exp(-2 t^2) = 2e-5 at t = 2.4
  const double scale = f.error_scale(x);
  REQUIRE((f.multiply(x) - a * x).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 2.4 * scale);
  REQUIRE(std::abs(errors.sum()) < 2.4 * scale * y.norm());
}
