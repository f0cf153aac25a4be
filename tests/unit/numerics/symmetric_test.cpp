// Symmetric matrices in svec coordinates against the definitions, entry by entry.
#include "headway/numerics/symmetric.hpp"

#include <cmath>

#include "catch.hpp"
#include "random_matrices.hpp"

using namespace headway;
using namespace headway::numerics;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using testing::difference;
using testing::random_matrix;

namespace {

MatrixXd random_symmetric(Index n, std::uint64_t stream) {
  const MatrixXd a = random_matrix(n, n, stream);
  return 0.5 * (a + a.transpose());
}

/// Column k is what `map` makes of the k-th unit vector of svec coordinates.
template <class Map>
MatrixXd matrix_of(const Map& map, Index n) {
  const Index m = symmetric_size(n);
  MatrixXd result(m, m);
  for (Index k = 0; k < m; ++k) {
    const VectorXd unit = VectorXd::Unit(m, k);
    result.col(k) = symmetric_to_vector(map(vector_to_symmetric(unit, n)));
  }
  return result;
}

const std::vector<Index> kSizes = {0, 1, 2, 5, 8};

}  // namespace

TEST_CASE("Entries of the lower triangle are counted row by row") {
  Index k = 0;
  for (Index i = 0; i < 6; ++i) {
    CHECK(symmetric_size(i) == k);
    for (Index j = 0; j <= i; ++j, ++k) {
      CHECK(symmetric_index(i, j) == k);
      CHECK(symmetric_index(j, i) == k);
    }
  }
}

TEST_CASE("svec of a 2 x 2 matrix has the expected numbers, and takes the symmetric part") {
  MatrixXd a(2, 2);
  a << 1, 2, 6, 5;
  const VectorXd v = symmetric_to_vector(a);
  REQUIRE(v.size() == 3);
  CHECK(v[0] == 1.0);
  CHECK_THAT(v[1], WithinRel(4.0 * std::sqrt(2.0), 1e-15));
  CHECK(v[2] == 5.0);
  const MatrixXd drawn = random_matrix(5, 5, 1);
  CHECK(difference(symmetric_to_vector(drawn),
                   symmetric_to_vector(0.5 * (drawn + drawn.transpose()))) < 1e-15);
}

TEST_CASE("svec keeps inner products and has an inverse") {
  for (const Index n : kSizes) {
    const MatrixXd a = random_symmetric(n, 2);
    const MatrixXd b = random_symmetric(n, 3);
    const VectorXd v = symmetric_to_vector(a);
    REQUIRE(v.size() == symmetric_size(n));
    CHECK_THAT(v.dot(symmetric_to_vector(b)), WithinAbs(a.cwiseProduct(b).sum(), 1e-13));
    CHECK(difference(vector_to_symmetric(v, n), a) < 1e-15);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) {
        CHECK_THAT(v[symmetric_index(i, j)], WithinRel(symmetric_weight(i, j) * a(i, j), 1e-14));
      }
    }
  }
}

TEST_CASE("The matrices of D -> (A D B + B D A) / 2 and D -> F D F^T agree with the maps") {
  for (const Index n : kSizes) {
    const MatrixXd a = random_symmetric(n, 4);
    const MatrixXd b = random_symmetric(n, 5);
    const MatrixXd f = random_matrix(n, n, 6);  // no symmetry needed
    const auto kronecker = [&](const MatrixXd& d) {
      return MatrixXd(0.5 * (a * d * b + b * d * a));
    };
    const auto congruence = [&](const MatrixXd& d) { return MatrixXd(f * d * f.transpose()); };
    CHECK(difference(symmetric_kronecker(a, b), matrix_of(kronecker, n)) < 1e-13);
    CHECK(difference(symmetric_congruence(f), matrix_of(congruence, n)) < 1e-13);
  }
}

TEST_CASE("The exponential agrees with its series, its inverse, and exp on a diagonal") {
  for (const Index n : kSizes) {
    if (n == 0) continue;
    const MatrixXd a = 0.3 * random_symmetric(n, 7);
    MatrixXd series = MatrixXd::Identity(n, n);
    MatrixXd term = series;
    for (int k = 1; k < 40; ++k) {
      term = term * a / k;
      series += term;
    }
    CHECK(difference(symmetric_exponential(a), series) < 1e-13);
    CHECK(difference(symmetric_exponential(a) * symmetric_exponential(-a),
                     MatrixXd::Identity(n, n)) < 1e-13);
  }
  const MatrixXd diagonal = VectorXd::LinSpaced(3, -1.0, 1.0).asDiagonal();
  CHECK(difference(symmetric_exponential(diagonal),
                   VectorXd(diagonal.diagonal().array().exp()).asDiagonal()) < 1e-15);
}

TEST_CASE("The square root squares to the matrix; eigenvalues below zero count as zero") {
  for (const Index n : {1, 2, 5, 8}) {
    const MatrixXd half = random_matrix(n, n, 8);
    const MatrixXd a = half * half.transpose();
    const MatrixXd root = symmetric_square_root(a);
    CHECK(difference(root, root.transpose()) < 1e-13);
    CHECK(difference(root * root, a) < 1e-12);
    const MatrixXd regular = a + MatrixXd::Identity(n, n);
    const MatrixXd inverse = symmetric_inverse_square_root(regular);
    CHECK(difference(inverse * regular * inverse, MatrixXd::Identity(n, n)) < 1e-13);
  }
  const MatrixXd infinite = VectorXd{{1.0, INFINITY}}.asDiagonal();
  CHECK(symmetric_square_root(infinite).array().isNaN().all());
  CHECK(symmetric_inverse_square_root(infinite).array().isNaN().all());
  const MatrixXd thin = random_matrix(5, 2, 9);  // rank 2: three eigenvalues are rounding about 0
  const MatrixXd root = symmetric_square_root(thin * thin.transpose());
  CHECK(root.allFinite());
  CHECK(difference(root * root, thin * thin.transpose()) < 1e-12);
  const MatrixXd indefinite = VectorXd{{4.0, -9.0}}.asDiagonal();
  CHECK(difference(symmetric_square_root(indefinite), VectorXd{{2.0, 0.0}}.asDiagonal()) < 1e-15);
}
