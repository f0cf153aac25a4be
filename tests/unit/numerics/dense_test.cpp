// The dense kernels against loops over the definitions, at sizes about their blocks, and on pieces
// of larger matrices.
#include "headway/numerics/dense.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "random_matrices.hpp"

using namespace headway;
using namespace headway::numerics;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using testing::difference;
using testing::random_matrix;

namespace {

MatrixXd random_spd(Index n, std::uint64_t stream) {
  const MatrixXd half = random_matrix(n, n + 3, stream);
  return half * half.transpose() / static_cast<double>(n + 3) + 0.2 * MatrixXd::Identity(n, n);
}

/// alpha op(A) op(B) + beta C by three loops.
MatrixXd reference_product(double alpha, const MatrixXd& a, Transpose ta, const MatrixXd& b,
                           Transpose tb, double beta, const MatrixXd& c) {
  const Index inner = ta == Transpose::kYes ? a.rows() : a.cols();
  MatrixXd result(c.rows(), c.cols());
  for (Index i = 0; i < c.rows(); ++i) {
    for (Index j = 0; j < c.cols(); ++j) {
      double sum = 0.0;
      for (Index k = 0; k < inner; ++k) {
        sum += (ta == Transpose::kYes ? a(k, i) : a(i, k)) *
               (tb == Transpose::kYes ? b(j, k) : b(k, j));
      }
      result(i, j) = alpha * sum + beta * c(i, j);
    }
  }
  return result;
}

struct Sizes {
  Index m, n, k;
};
const std::vector<Sizes> kProducts = {{0, 3, 2}, {3, 0, 2}, {1, 1, 1}, {3, 5, 7}, {33, 17, 40}};
const std::vector<Index> kSquares = {0, 1, 2, 15, 16, 17, 33, 65, 70};  // of tiles and recursions
constexpr auto kBoth = {Transpose::kNo, Transpose::kYes};

}  // namespace

TEST_CASE("multiply takes both factors as they are or transposed, and adds to what was there") {
  for (const Sizes& s : kProducts) {
    for (const Transpose ta : kBoth) {
      for (const Transpose tb : kBoth) {
        const MatrixXd a =
            ta == Transpose::kYes ? random_matrix(s.k, s.m, 1) : random_matrix(s.m, s.k, 1);
        const MatrixXd b =
            tb == Transpose::kYes ? random_matrix(s.n, s.k, 2) : random_matrix(s.k, s.n, 2);
        const MatrixXd c = random_matrix(s.m, s.n, 3);
        MatrixXd result = c;
        multiply(1.5, a, ta, b, tb, -0.5, result);
        const MatrixXd expected = reference_product(1.5, a, ta, b, tb, -0.5, c);
        CHECK(difference(result, expected) < 1e-12);
        MatrixXf single = c.cast<float>();
        multiply(1.5F, MatrixXf(a.cast<float>()), ta, MatrixXf(b.cast<float>()), tb, -0.5F, single);
        CHECK(difference(single.cast<double>(), expected) < 1e-4);
      }
    }
  }
}

TEST_CASE("multiply overwrites where beta is 0, whatever was there") {
  for (const Index rows : {3, 300}) {  // written out, and by BLAS
    MatrixXd c = MatrixXd::Constant(rows, 4, std::numeric_limits<double>::quiet_NaN());
    const MatrixXd a = random_matrix(rows, 2, 1);
    const MatrixXd b = random_matrix(2, 4, 2);
    multiply(1.0, a, Transpose::kNo, b, Transpose::kNo, 0.0, c);
    CHECK(difference(c, a * b) < 1e-14);
  }
}

TEST_CASE("multiply takes and fills blocks of larger matrices, and nothing around them") {
  const MatrixXd a = random_matrix(9, 8, 4);
  const MatrixXd b = random_matrix(7, 9, 5);
  MatrixXd c = MatrixXd::Zero(6, 7);
  multiply(1.0, a.block(2, 1, 3, 4), Transpose::kNo, b.block(1, 3, 4, 5), Transpose::kNo, 0.0,
           c.block(1, 2, 3, 5));
  MatrixXd expected = MatrixXd::Zero(6, 7);
  expected.block(1, 2, 3, 5) = a.block(2, 1, 3, 4) * b.block(1, 3, 4, 5);
  CHECK(difference(c, expected) < 1e-13);
}

TEST_CASE("multiply_vector agrees with Eigen's product, transposed or not") {
  for (const Sizes& s : kProducts) {
    const MatrixXd a = random_matrix(s.m, s.k, 6);
    const VectorXd x = random_matrix(s.k, 1, 7);
    const VectorXd y = random_matrix(s.m, 1, 8);
    CHECK(difference(multiply_vector(a, Transpose::kNo, x), a * x) < 1e-13);
    CHECK(difference(multiply_vector(a, Transpose::kYes, y), a.transpose() * y) < 1e-13);
  }
  const MatrixXd nothing(0, 4);
  CHECK(multiply_vector(nothing, Transpose::kYes, VectorXd(0)) == VectorXd::Zero(4));
}

TEST_CASE("rank_update_lower fills the lower triangle and leaves the upper one") {
  for (const Index n : kSquares) {
    for (const Transpose t : kBoth) {
      const MatrixXd a = t == Transpose::kYes ? random_matrix(5, n, 9) : random_matrix(n, 5, 9);
      const MatrixXd c = random_matrix(n, n, 10);
      const MatrixXd whole = reference_product(
          0.5, a, t, a, t == Transpose::kYes ? Transpose::kNo : Transpose::kYes, 2.0, c);
      MatrixXd expected = c;
      expected.triangularView<Eigen::Lower>() = whole;
      MatrixXd result = c;
      rank_update_lower(0.5, a, t, 2.0, result);
      CHECK(difference(result, expected) < 1e-12);
      MatrixXf single = c.cast<float>();
      rank_update_lower(0.5F, MatrixXf(a.cast<float>()), t, 2.0F, single);
      CHECK(difference(single.cast<double>(), expected) < 1e-4);
    }
  }
}

TEST_CASE("mirror_lower and transpose_into are exact at sizes about their tiles") {
  for (const Index n : kSquares) {
    const MatrixXd a = random_matrix(n, n, 11);
    MatrixXd mirrored = a;
    mirror_lower(mirrored);
    CHECK(mirrored == MatrixXd(a.selfadjointView<Eigen::Lower>()));
    MatrixXf single = a.cast<float>();
    mirror_lower(single);
    CHECK(single == MatrixXf(MatrixXd(a.selfadjointView<Eigen::Lower>()).cast<float>()));
    const MatrixXd wide = random_matrix(n, 37, 12);
    MatrixXd transposed(37, n);
    transpose_into(wide, transposed);
    CHECK(transposed == wide.transpose());
    MatrixXf transposed_single(37, n);
    transpose_into(MatrixXf(wide.cast<float>()), transposed_single);
    CHECK(transposed_single == wide.cast<float>().transpose());
  }
}

TEST_CASE("The Cholesky factor of a small matrix has the numbers computed by hand") {
  MatrixXd a(2, 2);
  a << 4, 777, 2, 10;  // only the lower triangle is read
  const auto factor = SpdFactor::factor(a);
  REQUIRE(factor);
  MatrixXd lower(2, 2);
  lower << 2, 0, 1, 3;
  CHECK(difference(factor->lower(), lower) < 1e-15);
  CHECK_THAT(factor->log_determinant(), WithinRel(std::log(36.0), 1e-15));
  CHECK_THAT(factor->condition_estimate(), WithinRel(2.25, 1e-15));
}

TEST_CASE("Solves, inverse and determinant of a factor are those of the matrix") {
  for (const Index n : kSquares) {
    const MatrixXd a = random_spd(n, 13);
    const auto factor = SpdFactor::factor(a);
    REQUIRE(factor);
    CHECK(factor->size() == n);
    CHECK(difference(factor->lower() * factor->lower().transpose(), a) < 1e-12);
    const MatrixXd b = random_matrix(n, 3, 14);
    CHECK(difference(a * factor->solve(b), b) < 1e-11);
    MatrixXd half = b;
    factor->half_solve(half);
    CHECK(difference(factor->lower() * half, b) < 1e-12);
    MatrixXd transposed = b;
    factor->half_solve_transposed(transposed);
    CHECK(difference(factor->lower().transpose() * transposed, b) < 1e-12);
    MatrixXf single = b.cast<float>();
    factor->half_solve(single);
    CHECK(difference(single.cast<double>(), half) < 1e-3);
    const MatrixXd inverse = factor->inverse();
    CHECK(difference(a * inverse, MatrixXd::Identity(n, n)) < 1e-11);
    CHECK(inverse == inverse.transpose());
    CHECK_THAT(factor->log_determinant(),
               WithinAbs(symmetric_eigen(a, false).values.array().log().sum(), 1e-10));
  }
  CHECK(SpdFactor::factor(MatrixXd(0, 0))->condition_estimate() == 1.0);
}

TEST_CASE("Singular values and their vectors give the matrix back, in falling order") {
  for (const Sizes& s : {Sizes{0, 3, 0}, {1, 1, 1}, {5, 3, 3}, {3, 5, 3}, {33, 17, 17}}) {
    MatrixXd a = random_matrix(s.m, s.n, 1);
    if (s.m == 33) a.col(4) = a.col(7);  // one value is zero
    CAPTURE(s.m, s.n);
    const SingularValues svd = singular_values(a);
    REQUIRE(svd.values.size() == s.k);
    const MatrixXd identity = MatrixXd::Identity(s.k, s.k);
    CHECK(difference(svd.left.transpose() * svd.left, identity) < 1e-13);
    CHECK(difference(svd.right.transpose() * svd.right, identity) < 1e-13);
    CHECK(difference(svd.left * svd.values.asDiagonal() * svd.right.transpose(), a) < 1e-12);
    CHECK(std::is_sorted(svd.values.begin(), svd.values.end(), std::greater<>()));
    if (s.m == 33) CHECK(svd.values(s.k - 1) < 1e-13);
  }
  CHECK_THAT(singular_values(MatrixXd::Constant(1, 2, -3.0)).values(0),
             WithinRel(3.0 * std::sqrt(2.0), 1e-14));
}

TEST_CASE("A product over no columns is zero, in both precisions") {
  const MatrixXf a(3, 0), b(0, 2);
  MatrixXf c = MatrixXf::Ones(3, 2);
  multiply(1.0F, a, Transpose::kNo, b, Transpose::kNo, 0.0F, c);
  CHECK(c.isZero(0.0));
  MatrixXd d = MatrixXd::Ones(3, 2);
  multiply(1.0, MatrixXd(3, 0), Transpose::kNo, MatrixXd(0, 2), Transpose::kNo, 0.0, d);
  CHECK(d.isZero(0.0));
}

TEST_CASE("half solves work on blocks of larger matrices") {
  const auto factor = SpdFactor::factor(random_spd(4, 15));
  MatrixXd b = random_matrix(6, 5, 16);
  MatrixXd expected = b;
  expected.block(1, 2, 4, 2) =
      factor->lower().triangularView<Eigen::Lower>().solve(MatrixXd(b.block(1, 2, 4, 2)));
  factor->half_solve(b.block(1, 2, 4, 2));
  CHECK(difference(b, expected) < 1e-13);
}

TEST_CASE("What is not positive definite, or not finite, has no factor") {
  const auto has_factor = [](const MatrixXd& a) { return SpdFactor::factor(a).has_value(); };
  CHECK_FALSE(has_factor(VectorXd{{1.0, -1e-12}}.asDiagonal()));
  CHECK_FALSE(has_factor(VectorXd{{1.0, 0.0, 2.0}}.asDiagonal()));
  CHECK_FALSE(has_factor(MatrixXd::Constant(1, 1, std::nan(""))));
  MatrixXd infinite = MatrixXd::Identity(3, 3);
  infinite(2, 2) = std::numeric_limits<double>::infinity();
  CHECK_FALSE(has_factor(infinite));
  const MatrixXd thin = random_matrix(6, 2, 17);
  CHECK_FALSE(has_factor(thin * thin.transpose() - 1e-10 * MatrixXd::Identity(6, 6)));
}

TEST_CASE("Eigenvalues rise, and their vectors diagonalise the matrix of the lower triangle") {
  MatrixXd two(2, 2);
  two << 2, 777, 1, 2;
  CHECK(difference(symmetric_eigen(two, false).values, VectorXd{{1.0, 3.0}}) < 1e-14);
  for (const Index n : kSquares) {
    const MatrixXd drawn = random_matrix(n, n, 18);
    const MatrixXd a = drawn.selfadjointView<Eigen::Lower>();
    const SymmetricEigen eigen = symmetric_eigen(drawn, true);
    REQUIRE(eigen.values.size() == n);
    CHECK(std::is_sorted(eigen.values.begin(), eigen.values.end()));
    CHECK(symmetric_eigen(drawn, false).vectors.size() == 0);
    CHECK(difference(symmetric_eigen(drawn, false).values, eigen.values) < 1e-11);
    if (n == 0) continue;
    CHECK(difference(eigen.vectors.transpose() * eigen.vectors, MatrixXd::Identity(n, n)) < 1e-12);
    CHECK(difference(eigen.vectors * eigen.values.asDiagonal() * eigen.vectors.transpose(), a) <
          1e-11);
  }
}

TEST_CASE("A tridiagonal matrix has the spectrum of the dense one") {
  for (const Index n : {0, 1, 2, 9}) {
    const VectorXd diagonal = random_matrix(n, 1, 19);
    const VectorXd below = random_matrix(std::max<Index>(n - 1, 0), 1, 20);
    MatrixXd a = diagonal.asDiagonal();
    for (Index i = 0; i + 1 < n; ++i) a(i, i + 1) = a(i + 1, i) = below[i];
    const SymmetricEigen eigen = tridiagonal_eigen(diagonal, below);
    CHECK(difference(eigen.values, symmetric_eigen(a, false).values) < 1e-13);
    CHECK(difference(eigen.vectors * eigen.values.asDiagonal() * eigen.vectors.transpose(), a) <
          1e-13);
  }
  const SymmetricEigen none = tridiagonal_eigen(VectorXd{{1.0, std::nan("")}}, VectorXd{{1.0}});
  CHECK(none.values.array().isNaN().all());
  CHECK(none.vectors.array().isNaN().all());
}

TEST_CASE("a matrix of more rows than BLAS counts is refused") {
  double nothing = 0.0;  // never read: sizes are looked at first
  const Index rows = Index{std::numeric_limits<int>::max()} + 11;
  const Eigen::Map<const MatrixXd, 0, Eigen::OuterStride<>> tall(&nothing, rows, 1,
                                                                 Eigen::OuterStride<>(rows));
  MatrixXd product = MatrixXd::Zero(1, 1);
  CHECK_THROWS_WITH(
      rank_update_lower(1.0, tall, Transpose::kYes, 0.0, product),
      Catch::Matchers::ContainsSubstring("2147483658 rows or columns: must be at most 2147483647"));
}

TEST_CASE("the largest entry is infinite where an entry is not finite") {
  MatrixXd a = random_matrix(3, 4, 71);
  a(1, 2) = -50.0;
  CHECK(largest_entry(a) == 50.0);
  CHECK(largest_entry(a.leftCols(2)) < 50.0);
  CHECK(largest_entry(MatrixXd(0, 3)) == 0.0);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    a(0, 0) = bad;
    CHECK(largest_entry(a) == std::numeric_limits<double>::infinity());
    CHECK(largest_entry(MatrixXd::Constant(2, 2, bad)) == std::numeric_limits<double>::infinity());
  }
}
