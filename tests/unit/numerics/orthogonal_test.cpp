#include "headway/numerics/orthogonal.hpp"

#include "catch.hpp"
#include "random_matrices.hpp"

using headway::Index;
using headway::MatrixXd;
using headway::numerics::OrthogonalFactor;
using headway::testing::difference;
using headway::testing::random_matrix;

TEST_CASE("Q R is the matrix, Q keeps lengths, and rows of R fall in size") {
  const std::vector<std::pair<Index, Index>> shapes = {{7, 4}, {4, 7}, {5, 5}, {1, 3}, {3, 0}};
  for (const auto& [rows, columns] : shapes) {
    for (const bool pivot : {true, false}) {
      const MatrixXd a = random_matrix(rows, columns, 3);
      const OrthogonalFactor f = OrthogonalFactor::factor(a, pivot);
      const Index least = std::min(rows, columns);
      REQUIRE(f.r().rows() == least);
      MatrixXd whole = MatrixXd::Zero(rows, columns);
      whole.topRows(least) = f.r();
      MatrixXd sorted(rows, columns);
      for (Index j = 0; j < columns; ++j)
        sorted.col(j) = a.col(f.order()[static_cast<std::size_t>(j)]);
      REQUIRE(difference(f.rotate_back(whole), sorted) < 1e-14);
      const MatrixXd b = random_matrix(rows, 2, 4);
      REQUIRE(difference(f.rotate_back(f.rotate(b)), b) < 1e-14);
      for (Index i = 1; pivot && i < least; ++i)
        REQUIRE(std::abs(f.r()(i, i)) <= std::abs(f.r()(i - 1, i - 1)));
    }
  }
}

TEST_CASE("a column of 1e8 leaves the others their digits") {
  const MatrixXd plain = random_matrix(6, 3, 5);
  MatrixXd a = plain;
  a.col(0) *= 1e8;
  const OrthogonalFactor f = OrthogonalFactor::factor(a, true);
  REQUIRE(f.order().front() == 0);
  MatrixXd sorted(6, 3);
  for (Index j = 0; j < 3; ++j) sorted.col(j) = plain.col(f.order()[static_cast<std::size_t>(j)]);
  const MatrixXd rest = f.r().bottomRightCorner(2, 2);
  const MatrixXd same = OrthogonalFactor::factor(sorted, false).r().bottomRightCorner(2, 2);
  // A few reflections of 6 rows, each with an error of eps |A_j|.
  REQUIRE(difference(rest.transpose() * rest, same.transpose() * same) <
          1e-14 * plain.squaredNorm());
}
