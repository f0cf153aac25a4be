#pragma once

#include <optional>

#include "headway/types.hpp"

namespace headway::numerics {

/// Dense kernels on OpenBLAS, single-threaded (threads live one level up), with the matrix shapes
/// Headway needs. All matrices are column-major; a Ref must have unit inner stride.
using ConstMatrixRef = Eigen::Ref<const MatrixXd, 0, Eigen::OuterStride<>>;
using MatrixRef = Eigen::Ref<MatrixXd, 0, Eigen::OuterStride<>>;

using MatrixXf = Eigen::MatrixXf;
using ConstMatrixRefF = Eigen::Ref<const MatrixXf, 0, Eigen::OuterStride<>>;
using MatrixRefF = Eigen::Ref<MatrixXf, 0, Eigen::OuterStride<>>;

enum class Transpose { kNo, kYes };

/// C = alpha op(A) op(B) + beta C. Cost 2 m n k flops.
// NOLINTNEXTLINE(readability-function-size): the arguments of BLAS's gemm
void multiply(double alpha, const ConstMatrixRef& a, Transpose ta, const ConstMatrixRef& b,
              Transpose tb, double beta, MatrixRef c);

/// The same in single precision: for Newton directions, which need a few digits of the Hessian at
/// twice the speed.
// NOLINTNEXTLINE(readability-function-size): the arguments of BLAS's gemm
void multiply(float alpha, const ConstMatrixRefF& a, Transpose ta, const ConstMatrixRefF& b,
              Transpose tb, float beta, MatrixRefF c);

/// op(A) x. Bound by memory: one pass over A.
VectorXd multiply_vector(const ConstMatrixRef& a, Transpose ta, const VectorXd& x);

/// Lower triangle of C = alpha A A^T + beta C (kNo), or alpha A^T A + beta C (kYes). Cost m m k
/// flops.
void rank_update_lower(double alpha, const ConstMatrixRef& a, Transpose ta, double beta,
                       MatrixRef c);

void rank_update_lower(float alpha, const ConstMatrixRefF& a, Transpose ta, float beta,
                       MatrixRefF c);

/// Copies the lower triangle into the upper one.
void mirror_lower(MatrixRef a);
void mirror_lower(MatrixRefF a);

/// The largest |entry|, and 0 without entries. Infinite if an entry is not finite.
double largest_entry(const ConstMatrixRef& a);

/// out = a^T, tile by tile.
void transpose_into(const ConstMatrixRef& a, MatrixRef out);
void transpose_into(const ConstMatrixRefF& a, MatrixRefF out);

/// Cholesky factor A = L L^T of a symmetric positive-definite matrix; only the lower triangle of A
/// is read.
class SpdFactor {
 public:
  SpdFactor() = default;
  /// Returns nothing when A is not positive definite to working precision. Cost n^3 / 3 flops.
  static std::optional<SpdFactor> factor(MatrixXd a);

  [[nodiscard]] Index size() const { return lower_.rows(); }
  /// L (its strict upper triangle is zero).
  [[nodiscard]] const MatrixXd& lower() const { return lower_; }
  [[nodiscard]] double log_determinant() const;
  /// (max L_ii / min L_ii)^2, a lower bound of the condition number.
  [[nodiscard]] double condition_estimate() const;
  /// A^{-1} b.
  [[nodiscard]] MatrixXd solve(MatrixXd b) const;
  /// In place: L^{-1} b and L^{-T} b. Cost n^2 k flops for k columns.
  void half_solve(MatrixRef b) const;
  void half_solve_transposed(MatrixRef b) const;
  /// L^{-1} b in single precision.
  void half_solve(MatrixRefF b) const;
  /// A^{-1}, both triangles. Cost 2 n^3 / 3 flops.
  [[nodiscard]] MatrixXd inverse() const;

 private:
  MatrixXd lower_;
};

/// Eigenvalues in rising order and, if asked for, eigenvectors (columns) of the symmetric matrix
/// whose lower triangle is A's.
struct SymmetricEigen {
  VectorXd values;
  MatrixXd vectors;
};
/// Most rows of a matrix whose eigenvectors symmetric_eigen() computes: LAPACK's dsyevd takes
/// 1 + 6 n + 2 n^2 numbers of workspace, which it counts in 32 bits.
inline constexpr int kLargestEigenvectors = 32766;
/// Error{kUnavailable} if `vectors` are asked for of a larger matrix. Memory: with vectors
/// 2 n^2 numbers beside `a`.
SymmetricEigen symmetric_eigen(MatrixXd a, bool vectors);
/// The same for the symmetric tridiagonal matrix with this diagonal and, below it, `below` (one
/// shorter). All NaN if an entry is not finite. Cost O(n^3).
SymmetricEigen tridiagonal_eigen(VectorXd diagonal, VectorXd below);

/// The shorter side of the largest matrix that singular_values() takes: LAPACK's dgesdd takes some
/// 4 n^2 numbers of workspace, which it counts in 32 bits.
inline constexpr int kLargestSingularVectors = 23'000;
/// A = left diag(values) right^T for m x n A: the min(m, n) singular values in falling order, and
/// their vectors as columns. Error{kUnavailable} where min(m, n) > kLargestSingularVectors,
/// Error{kInternal} where LAPACK finds none. Cost O(m n min(m, n)).
struct SingularValues {
  VectorXd values;
  MatrixXd left, right;
};
SingularValues singular_values(MatrixXd a);

}  // namespace headway::numerics
