#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "headway/analysis/head_scores.hpp"
#include "headway/analysis/kernel_alignment.hpp"
#include "headway/numerics/dense.hpp"

using namespace headway;

TEST_CASE("alignment of a kernel with known eigenvectors has the overlaps computed by hand") {
  // K = 3 e1 e1^T + 2 e2 e2^T + 1 e3 e3^T in a rotated basis
  const double c = std::cos(0.3);
  const double s = std::sin(0.3);
  MatrixXd q(3, 3);
  q << c, -s, 0, s, c, 0, 0, 0, 1;
  const MatrixXd k = q * Eigen::Vector3d(1, 3, 2).asDiagonal() * q.transpose();
  const VectorXd y = 2.0 * q.col(1) + 1.0 * q.col(0);
  const analysis::KernelAlignment a = analysis::kernel_alignment(k, y);
  REQUIRE_THAT(a.eigenvalues[0], Catch::Matchers::WithinAbs(3, 1e-12));
  REQUIRE_THAT(a.overlaps[0], Catch::Matchers::WithinAbs(2 / std::sqrt(5.0), 1e-12));
  REQUIRE_THAT(a.overlaps[1], Catch::Matchers::WithinAbs(0, 1e-12));
  REQUIRE_THAT(a.overlaps[2], Catch::Matchers::WithinAbs(1 / std::sqrt(5.0), 1e-12));
  REQUIRE_THAT(a.cumulative[2], Catch::Matchers::WithinAbs(1, 1e-12));
}

TEST_CASE("alignment ends at the rank of the kernel, whatever the order of the examples") {
  const Index n = 12, rank = 4;
  MatrixXd x(n, rank);
  for (Index i = 0; i < x.size(); ++i)
    x.data()[i] = std::sin(1.0 + 3.7 * static_cast<double>(i * i));
  const VectorXd y = VectorXd::NullaryExpr(n, [](Index i) { return i % 3 == 0 ? 1.0 : -1.0; });
  const analysis::KernelAlignment a = analysis::kernel_alignment(x * x.transpose(), y);
  const MatrixXd reversed = x.colwise().reverse();
  const analysis::KernelAlignment b =
      analysis::kernel_alignment(reversed * reversed.transpose(), y.reverse());
  for (Index k = 0; k < rank; ++k) {
    CHECK_THAT(a.overlaps[k], Catch::Matchers::WithinAbs(b.overlaps[k], 1e-12));
  }
  CHECK(a.overlaps.tail(n - rank).array().isNaN().all());
  const VectorXd within = x * (x.transpose() * x).ldlt().solve(x.transpose() * y);
  CHECK_THAT(a.cumulative[n - 1],
             Catch::Matchers::WithinAbs(within.squaredNorm() / y.squaredNorm(), 1e-12));
}

TEST_CASE(
    "eigenvectors of equal eigenvalues share their overlap, whatever the order of the outputs") {
  // The kernel of the Gaussian process has every eigenvalue once for each output.
  const Index n = 7, outputs = 3;
  MatrixXd x(n, n);
  for (Index i = 0; i < x.size(); ++i) x.data()[i] = std::sin(static_cast<double>(i * i) + 1.3 * i);
  const MatrixXd kernel = x * x.transpose();
  MatrixXd y(n, outputs);
  for (Index i = 0; i < y.size(); ++i) y.data()[i] = std::cos(2.1 * static_cast<double>(i * i));
  const analysis::KernelAlignment one = analysis::kernel_alignment(kernel, y.col(0));
  const auto aligned = [&](const MatrixXd& labels) {
    MatrixXd all = MatrixXd::Zero(n * outputs, n * outputs);
    for (Index c = 0; c < outputs; ++c) all.block(c * n, c * n, n, n) = kernel;
    return analysis::kernel_alignment(all, labels.reshaped());
  };
  const analysis::KernelAlignment a = aligned(y);
  const analysis::KernelAlignment b = aligned(y.rowwise().reverse());
  CHECK((a.overlaps - b.overlaps).norm() < 1e-10);
  CHECK_THAT(a.cumulative[n * outputs - 1], Catch::Matchers::WithinAbs(1, 1e-12));
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(kernel, true);
  for (Index k = 0; k < n; ++k) {
    const double share = (y.transpose() * eigen.vectors.col(n - 1 - k)).squaredNorm() /
                         (y.squaredNorm() * static_cast<double>(outputs));
    for (Index c = 0; c < outputs; ++c) {
      CHECK_THAT(a.overlaps[k * outputs + c], Catch::Matchers::WithinAbs(std::sqrt(share), 1e-10));
    }
    CHECK_THAT(one.eigenvalues[k], Catch::Matchers::WithinRel(a.eigenvalues[k * outputs], 1e-9));
  }
}

TEST_CASE("eigenvalues that fade into rounding do not make the null space defined") {
  // Steps between eigenvalues are smaller than the rounding, n eps = 2.7e-15, also at its bound.
  const Index n = 12;
  VectorXd values = VectorXd::LinSpaced(n, 8e-15, 0.0);
  values[0] = 1.0;
  const analysis::KernelAlignment a =
      analysis::kernel_alignment(MatrixXd(values.asDiagonal()), VectorXd::Ones(n));
  const double rounding = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  for (Index k = 0; k < n; ++k) {
    CAPTURE(k, values[k]);
    CHECK(std::isnan(a.overlaps[k]) == !(values[k] > rounding));
  }
}

TEST_CASE("head scores agree with their definition") {
  // heads [2, 2]: paths (1,1) (1,2) (2,1) (2,2)
  MatrixXd u(4, 4);
  u << 4, -1, 0.5, 0, -1, 2, 0, 0.25, 0.5, 0, 1, 0, 0, 0.25, 0, 0.5;
  const analysis::HeadScores s = analysis::head_scores(u, {2, 2}, 1);
  // head (1,1): rows or columns 1, 2: all but the block of paths 3, 4 = {1, .5}
  const double total = u.cwiseAbs().sum();
  const double h11 = total - 1.5;
  const double h12 = total - (4 + 2 + 2);      // all but paths 1, 2
  const double h21 = total - (2 + 0.5 + 0.5);  // all but paths 2, 4
  const double h22 = total - (4 + 1 + 1);      // all but paths 1, 3
  const double largest = std::max({h11, h12, h21, h22});
  const std::vector<double> expected = {h11 / largest, h12 / largest, h21 / largest, h22 / largest};
  for (int i = 0; i < 4; ++i)
    REQUIRE_THAT(s.score[i], Catch::Matchers::WithinRel(expected[i], 1e-13));
  // weighted: entries with the head on exactly one path count 1 / (2 H_l) = 1/4
  const double crossing1 = 2 * (0.5 + 0 + 0 + 0.25);  // between paths {1,2} and {3,4}
  const double w11 = 8 + crossing1 / 4;
  const double w12 = 1.5 + crossing1 / 4;
  const double crossing2 = 2 * 1.0;  // between paths {1,3} and {2,4}: |-1| twice
  const double w21 = 6 + crossing2 / 4;
  const double w22 = 3 + crossing2 / 4;
  const double top = std::max({w11, w12, w21, w22});
  const std::vector<double> weighted = {w11 / top, w12 / top, w21 / top, w22 / top};
  for (int i = 0; i < 4; ++i)
    REQUIRE_THAT(s.weighted[i], Catch::Matchers::WithinRel(weighted[i], 1e-13));
}

TEST_CASE("removing heads zeroes the paths through them, for every output") {
  const MatrixXd u = MatrixXd::Constant(8, 8, 1.0);  // heads [2, 2], 2 outputs
  const MatrixXd pruned =
      analysis::remove_heads(u, {2, 2}, 2, {3});  // head 2 of layer 2: paths (1,2), (2,2)
  for (Index i = 0; i < 8; ++i) {
    for (Index j = 0; j < 8; ++j) {
      const bool gone = (i / 2) % 2 == 1 || (j / 2) % 2 == 1;
      REQUIRE(pruned(i, j) == (gone ? 0.0 : 1.0));
    }
  }
}

TEST_CASE("a greedy search breaks ties by its second quality, then by the lower index") {
  const auto order = [](double first, double second) {
    return analysis::greedy_order({3}, [=](const std::vector<int>& removed) {
      const double seen = removed.front() == 2 ? 1.0 : 0.0;
      return analysis::RemovalQuality{first * seen, second * seen};
    });
  };
  REQUIRE(order(1.0, 0.0) == std::vector<int>{2, 0});
  REQUIRE(order(0.0, 1.0) == std::vector<int>{2, 0});
  REQUIRE(order(0.0, 0.0) == std::vector<int>{0, 1});
  REQUIRE(order(0.0, std::nan("")) == std::vector<int>{0, 1});
}

TEST_CASE(
    "removal orders never empty a layer, and greedy removal finds the order that hurts least") {
  REQUIRE(analysis::keep_last_heads({0, 1, 2, 3, 4}, {2, 3}) == std::vector<int>{0, 2, 3});
  REQUIRE(analysis::ascending_order({0.5, 0.1, 0.1, 0.9}) == std::vector<int>{1, 2, 0, 3});
  const std::vector<double> worth = {5, 1, 3, 2, 4};  // heads [2, 3]
  const auto quality = [&](const std::vector<int>& removed) {
    double q = 15;
    for (int h : removed) q -= worth[h];
    return q;
  };
  const std::vector<int> greedy = analysis::greedy_order(
      {2, 3}, [&](const std::vector<int>& removed) -> analysis::RemovalQuality {
        return {quality(removed)};
      });
  REQUIRE(greedy == std::vector<int>{1, 3, 2});
  REQUIRE(analysis::removal_curve(greedy, quality).quality == std::vector<double>{15, 14, 12, 9});
}
