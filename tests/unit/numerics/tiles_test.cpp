#include "headway/numerics/tiles.hpp"

#include <array>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/numerics/dense.hpp"

using namespace headway;
using numerics::MatrixXf;
using numerics::Transpose;

namespace {

MatrixXd random_matrix(Index rows, Index cols, std::uint64_t stream) {
  Rng rng(5, StreamPurpose::kTests, stream);
  MatrixXd m(rows, cols);
  for (double& x : m.reshaped()) x = rng.normal();
  return m;
}

/// One call of the BLAS, which dense_test.cpp compares with plain loops.
MatrixXd whole_product(const MatrixXd& a, const MatrixXd& b) {
  MatrixXd c(a.rows(), b.cols());
  numerics::multiply(1.0, a, Transpose::kNo, b, Transpose::kNo, 0.0, c);
  return c;
}

/// The product for all four choices of transposed factors, on `threads` threads.
template <class Matrix>
Matrix product(const Matrix& a, Transpose ta, const Matrix& b, Transpose tb, int threads) {
  Matrix c(ta == Transpose::kYes ? a.cols() : a.rows(),
           tb == Transpose::kYes ? b.rows() : b.cols());
  numerics::multiply_tiled(a, ta, b, tb, c, threads);
  return c;
}

template <class Matrix>
Matrix symmetric_product(const Matrix& a, const Matrix& b, Transpose t, int threads) {
  const Index n = t == Transpose::kYes ? a.cols() : a.rows();
  Matrix c = Matrix::Constant(n, n, 7);
  numerics::symmetric_product_tiled(a, b, t, c, threads);
  return c;
}

}  // namespace

TEST_CASE("tiled products are products, with the same bits on any number of threads") {
  // From one tile to many, longer to either side: 2 x 37 x 1801 x 1499 flops make six tiles.
  for (const auto& [m, n, k] : std::vector<std::array<Index, 3>>{{1, 1, 1},
                                                                 {5, 3, 2},
                                                                 {40, 30, 20},
                                                                 {1801, 37, 1499},
                                                                 {37, 1801, 1499},
                                                                 {700, 699, 300}}) {
    const MatrixXd a = random_matrix(m, k, 1);
    const MatrixXd b = random_matrix(k, n, 2);
    const MatrixXd expected = whole_product(a, b);
    const double tolerance = 1e-12 * static_cast<double>(k + 1);
    const MatrixXd at = a.transpose();
    const MatrixXd bt = b.transpose();
    CAPTURE(m, n, k);
    const MatrixXd one = product(a, Transpose::kNo, b, Transpose::kNo, 1);
    CHECK((one - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <= tolerance);
    CHECK(product(a, Transpose::kNo, b, Transpose::kNo, 3) == one);
    for (const MatrixXd& other : {product(at, Transpose::kYes, b, Transpose::kNo, 2),
                                  product(a, Transpose::kNo, bt, Transpose::kYes, 2),
                                  product(at, Transpose::kYes, bt, Transpose::kYes, 2)}) {
      CHECK((other - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <= tolerance);
    }
    const MatrixXf single =
        product<MatrixXf>(a.cast<float>(), Transpose::kNo, b.cast<float>(), Transpose::kNo, 2);
    CHECK((single.cast<double>() - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <=
          1e-5 * (k + 1.0));
  }
}

TEST_CASE("symmetric tiled products have both triangles, cut along rows or along the sum") {
  for (const auto& [n, k] : std::vector<std::array<Index, 2>>{
           {1, 1}, {3, 50}, {60, 20000}, {150, 9000}, {290, 3000}, {700, 400}}) {
    const MatrixXd a = random_matrix(n, k, 3);
    const MatrixXd s = random_matrix(k, 2, 4);
    // A (I + s s^T): its product with A^T is symmetric.
    const MatrixXd b = a + a * s * s.transpose() / static_cast<double>(k);
    const MatrixXd expected = whole_product(a, b.transpose());
    const double tolerance = 1e-12 * static_cast<double>(k + 1) * 10;
    CAPTURE(n, k);
    const MatrixXd one = symmetric_product(a, b, Transpose::kNo, 1);
    CHECK((one - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <= tolerance);
    CHECK(one == one.transpose());
    CHECK(symmetric_product(a, b, Transpose::kNo, 4) == one);
    const MatrixXd at = a.transpose();
    const MatrixXd bt = b.transpose();
    const MatrixXd other = symmetric_product(at, bt, Transpose::kYes, 2);
    CHECK((other - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <= tolerance);
    CHECK(symmetric_product(at, bt, Transpose::kYes, 1) == other);
  }
}

TEST_CASE("tiled half solves are those of the factor") {
  const MatrixXd root = random_matrix(300, 310, 5);
  const auto factor = numerics::SpdFactor::factor(whole_product(root, root.transpose()));
  REQUIRE(factor);
  for (const Index columns : {1, 90, 4000}) {
    const MatrixXd b = random_matrix(300, columns, 6);
    MatrixXd one = b;
    numerics::half_solve_tiled(*factor, one, 1);
    CHECK((whole_product(factor->lower(), one) - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <
          1e-10);
    MatrixXd three = b;
    numerics::half_solve_tiled(*factor, three, 3);
    CHECK(three == one);
  }
}
