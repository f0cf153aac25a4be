#pragma once

#include <cmath>

#include "headway/types.hpp"

/// Symmetric n x n matrices as vectors of their n(n+1)/2 independent entries, in orthonormal
/// coordinates:
///   svec(A)_(i,j) = A_ii on the diagonal, sqrt(2) A_ij below it;   <A, B>_F = svec(A) . svec(B).
/// Entry (i, j) with i >= j has index i (i+1)/2 + j.
namespace headway::numerics {

inline Index symmetric_size(Index n) { return n * (n + 1) / 2; }
inline Index symmetric_index(Index i, Index j) {
  return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}
/// 1 on the diagonal, sqrt(2) off it: svec coordinate / matrix entry.
inline double symmetric_weight(Index i, Index j) { return i == j ? 1.0 : std::sqrt(2.0); }

/// svec of the symmetric part of A.
VectorXd symmetric_to_vector(const Eigen::Ref<const MatrixXd>& a);
MatrixXd vector_to_symmetric(const Eigen::Ref<const VectorXd>& v, Index n);

/// Matrix of the map D -> (A D B + B D A) / 2 in svec coordinates, A and B symmetric n x n. Cost
/// O(n^4).
MatrixXd symmetric_kronecker(const MatrixXd& a, const MatrixXd& b);

/// Matrix of the congruence D -> F D F^T in svec coordinates.
MatrixXd symmetric_congruence(const MatrixXd& f);

/// Exponential and square root. For the root, eigenvalues below zero count as zero: they are the
/// rounding of a semidefinite matrix. All entries are NaN if A is not finite.
MatrixXd symmetric_exponential(const MatrixXd& a);
MatrixXd symmetric_square_root(const MatrixXd& a);
/// A^{-1/2} of a positive definite matrix. All entries are NaN if A is not finite.
MatrixXd symmetric_inverse_square_root(const MatrixXd& a);

}  // namespace headway::numerics
