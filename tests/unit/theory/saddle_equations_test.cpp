// The equations of the saddle point as the lecture notes have them (src/theory/README.md), with
// their sums written out.
#include <Eigen/Eigenvalues>
#include <cmath>

#include "catch.hpp"
#include "saddle_points.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::difference;
using test::kernels_of;
using test::random_case;
using test::relative_error;
using test::solve;

namespace {

MatrixXd identity(Index size) { return MatrixXd::Identity(size, size); }

MatrixXd power(const MatrixXd& m, double exponent) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(m);
  return eigen.eigenvectors() * eigen.eigenvalues().array().pow(exponent).matrix().asDiagonal() *
         eigen.eigenvectors().transpose();
}

/// The positive root of J^2 + kappa J = M.
MatrixXd root(double b, const MatrixXd& m) {
  const MatrixXd one = identity(m.rows());
  return 0.5 * (power(b * b * one + 4.0 * m, 0.5) - b * one);
}

/// I kron `block`.
MatrixXd repeated(const MatrixXd& block, Index times) {
  MatrixXd all = MatrixXd::Zero(times * block.rows(), times * block.cols());
  for (Index h = 0; h < times; ++h)
    all.block(h * block.rows(), h * block.cols(), block.rows(), block.cols()) = block;
  return all;
}

/// The partial trace over heads (eq. 21), of so many rows.
MatrixXd over_heads(const MatrixXd& u, Index rows) {
  MatrixXd sum = MatrixXd::Zero(rows, rows);
  for (Index at = 0; at < u.rows(); at += rows) sum += u.block(at, at, rows, rows);
  return sum;
}

/// (K + T)^{-1}.
MatrixXd inverse_covariance(const test::TheoryCase& c, const MatrixXd& u, double temperature) {
  MatrixXd k = test::reference_kernel(c.features, c.features, u, c.n0, c.architecture.outputs);
  k.diagonal().array() += temperature;
  return k.llt().solve(identity(k.rows()));
}

}  // namespace

TEST_CASE("data shift the trace of every layer by the same number, over its width") {
  const double temperature = 0.05;
  for (const Index outputs : {1, 2}) {
    const test::TheoryCase c = random_case({2, 3}, outputs, 15, 6, 23);
    const theory::OrderParameters u = solve(c, temperature).order_parameters;
    const MatrixXd a = inverse_covariance(c, u.at(1), temperature);
    const MatrixXd k = test::reference_kernel(c.features, c.features, u.at(1), c.n0, outputs);
    const VectorXd alpha = a * c.labels.reshaped();
    const double gain = alpha.dot(k * alpha);
    const double cost = (a * k).trace();
    const double shift = gain - cost;
    REQUIRE(std::abs(shift) > 0.1);
    for (int l = 1; l <= 3; ++l) {
      const MatrixXd above = l == 3 ? identity(outputs) : u.at(l + 1);
      const double trace = above.llt().solve(over_heads(u.at(l), above.rows())).trace();
      const double moved = trace / c.architecture.variance(l) - static_cast<double>(u.at(l).rows());
      const double width = c.architecture.width(l);
      REQUIRE_THAT(width * moved, Catch::Matchers::WithinRel(shift, 1e-6));
      // No eigenvalue changes by more than the whole gain or the whole cost.
      const Index heads = u.at(l).rows() / above.rows();
      const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> relative(
          u.at(l), c.architecture.variance(l) * repeated(above, static_cast<int>(heads)));
      REQUIRE(width * (relative.eigenvalues().maxCoeff() - 1.0) < gain + 1e-6);
      REQUIRE(width * (relative.eigenvalues().minCoeff() - 1.0) > -cost - 1e-6);
    }
  }
}

TEST_CASE("the upper layers are where the prior term is stationary (eq. 91)") {
  for (const Index outputs : {1, 2}) {
    const test::TheoryCase c = random_case({2, 3}, outputs, 15, 6, 23);
    const model::Architecture& a = c.architecture;
    const theory::OrderParameters u = solve(c, 0.05).order_parameters;
    for (int l = 1; l <= 2; ++l) {
      const Index rows = u.at(l + 1).rows();
      const MatrixXd inverse = u.at(l + 1).inverse();
      const auto heads = static_cast<double>(a.heads[static_cast<std::size_t>(l - 1)]);
      const MatrixXd below =
          a.width(l) *
          (inverse * over_heads(u.at(l), rows) * inverse / a.variance(l) - heads * inverse);
      const MatrixXd top = l == 2 ? identity(outputs) : repeated(u.at(3).inverse(), a.heads[1]);
      const MatrixXd above = a.width(l + 1) * (top / a.variance(l + 1) - inverse);
      REQUIRE(relative_error(above, below) < 1e-6);
    }
  }
}

TEST_CASE("the solver of the lecture notes ends at the saddle point, and never raises the action") {
  const double temperature = 0.01;
  for (const Index width : {3, 20}) {
    test::TheoryCase c = random_case({2, 3}, 1, 30, 8, 23);
    c.architecture.widths = {width, width + 4, width + 9};
    const model::Architecture& a = c.architecture;
    const theory::OrderParameters expected = solve(c, temperature).order_parameters;
    const theory::Action action(a, temperature,
                                kernels_of(c, theory::KernelForm::kStreamed, temperature));
    theory::OrderParameters u = theory::gaussian_process_order_parameters(a);
    double before = INFINITY;
    for (int step = 0; step < 4000 && difference(u, expected) > 1e-7; ++step) {
      const MatrixXd inverse = inverse_covariance(c, u.at(1), temperature);
      MatrixXd traces(a.paths(), a.paths());
      for (Index one = 0; one < a.paths(); ++one)
        for (Index two = 0; two < a.paths(); ++two)
          traces(one, two) = c.features.middleCols(one * c.n0, c.n0)
                                 .cwiseProduct(inverse * c.features.middleCols(two * c.n0, c.n0))
                                 .sum();
      const VectorXd overlaps = c.features.transpose() * (inverse * c.labels.col(0));
      const MatrixXd b = u.at(1) * overlaps.reshaped(c.n0, a.paths()).transpose();
      const double n = a.width(1);
      const MatrixXd f = repeated(u.at(2).inverse(), a.heads[0]) / a.variance(1) + traces / n;
      const MatrixXd half = power(f, 0.5);
      const MatrixXd back = power(f, -0.5);
      u.at(1) = back * root(-1.0, half * b * b.transpose() * half / n) * back;
      for (int l = 1; l <= 2; ++l) {
        const MatrixXd q = l == 2 ? identity(1) : repeated(u.at(3).inverse(), a.heads[1]);
        const MatrixXd right = power(q, 0.5);
        const MatrixXd left = power(q, -0.5);
        const double ratio = a.variance(l + 1) * a.width(l) / static_cast<double>(a.width(l + 1));
        const double heads = a.heads[static_cast<std::size_t>(l - 1)];
        const MatrixXd m =
            ratio / a.variance(l) * right * over_heads(u.at(l), u.at(l + 1).rows()) * right;
        u.at(l + 1) = left * root(ratio * heads - a.variance(l + 1), m) * left;
      }
      const double now = action.evaluate(u).value;
      REQUIRE(now <= before + 1e-9 * std::abs(before));
      before = now;
    }
    REQUIRE(difference(u, expected) < 1e-6);
  }
}
