// Matrices of normal numbers, and how far two are apart.
#pragma once

#include <cstdint>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/types.hpp"

namespace headway::testing {

inline MatrixXd random_matrix(Index rows, Index columns, std::uint64_t stream) {
  Rng rng(22, StreamPurpose::kTests, stream);
  MatrixXd a(rows, columns);
  for (double& x : a.reshaped()) x = rng.normal();
  return a;
}

/// Largest absolute difference of two matrices of one shape.
inline double difference(const MatrixXd& a, const MatrixXd& b) {
  REQUIRE(a.rows() == b.rows());
  REQUIRE(a.cols() == b.cols());
  return a.size() == 0 ? 0.0 : (a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

}  // namespace headway::testing
