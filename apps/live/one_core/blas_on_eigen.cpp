// The functions of BLAS and LAPACK that the theory calls, on Eigen: a page has no OpenBLAS.
// Matrices are column-major, and triangles are lower ones. Parameters are those of BLAS and LAPACK.
// NOLINTBEGIN(readability-identifier-naming): Fortran's names
#include <cblas.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <array>

namespace {

using Eigen::Dynamic;
template <class T>
using Matrix = Eigen::Matrix<T, Dynamic, Dynamic>;
template <class T>
using In = Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using Out = Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>;

/// op(A) of `rows` x `columns`, handed on to `use`.
template <class T, class Use>
void with_op(CBLAS_TRANSPOSE t, const T* a, Eigen::Index lda, std::array<int, 2> size, Use use) {
  if (t == CblasTrans) {
    use(In<T>(a, size[1], size[0], Eigen::OuterStride<>(lda)).transpose());
  } else {
    use(In<T>(a, size[0], size[1], Eigen::OuterStride<>(lda)));
  }
}

/// C beta; BLAS reads no C where beta is 0, so that it may hold anything.
template <class T, class View>
void scale(T beta, View&& c) {
  if (beta == T{0}) {
    c.setZero();
  } else if (beta != T{1}) {
    c *= beta;
  }
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
template <class T>
void product(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, T alpha, const T* a,
             int lda, const T* b, int ldb, T beta, T* c, int ldc) {
  Out<T> out(c, m, n, Eigen::OuterStride<>(ldc));
  scale(beta, out);
  if (k == 0) return;
  with_op(ta, a, lda, {m, k}, [&](const auto& left) {
    with_op(tb, b, ldb, {k, n}, [&](const auto& right) { out.noalias() += alpha * left * right; });
  });
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
template <class T>
void rank_update(CBLAS_TRANSPOSE ta, int n, int k, T alpha, const T* a, int lda, T beta, T* c,
                 int ldc) {
  Out<T> out(c, n, n, Eigen::OuterStride<>(ldc));
  for (int j = 0; j < n; ++j) scale(beta, out.col(j).tail(n - j));
  if (k == 0) return;
  with_op(ta, a, lda, {n, k}, [&](const auto& left) {
    out.template selfadjointView<Eigen::Lower>().rankUpdate(left, alpha);
  });
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
template <class T>
void triangular_solve(CBLAS_SIDE side, CBLAS_TRANSPOSE ta, int m, int n, T alpha, const T* a,
                      int lda, T* b, int ldb) {
  const int order = side == CblasLeft ? m : n;
  const In<T> matrix(a, order, order, Eigen::OuterStride<>(lda));
  const auto lower = matrix.template triangularView<Eigen::Lower>();
  const auto upper = matrix.transpose().template triangularView<Eigen::Upper>();
  Out<T> out(b, m, n, Eigen::OuterStride<>(ldb));
  scale(alpha, out);
  if (side == CblasLeft) {
    ta == CblasTrans ? upper.solveInPlace(out) : lower.solveInPlace(out);
  } else if (ta == CblasTrans) {
    upper.template solveInPlace<Eigen::OnTheRight>(out);
  } else {
    lower.template solveInPlace<Eigen::OnTheRight>(out);
  }
}

Out<double> square(double* a, int n, int lda) { return {a, n, n, Eigen::OuterStride<>(lda)}; }

}  // namespace

extern "C" {

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void cblas_dgemm(CBLAS_ORDER, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k,
                 double alpha, const double* a, int lda, const double* b, int ldb, double beta,
                 double* c, int ldc) {
  product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void cblas_sgemm(CBLAS_ORDER, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k,
                 float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                 float* c, int ldc) {
  product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void cblas_dgemv(CBLAS_ORDER, CBLAS_TRANSPOSE ta, int m, int n, double alpha, const double* a,
                 int lda, const double* x, int, double beta, double* y, int) {
  const int rows = ta == CblasTrans ? n : m, columns = ta == CblasTrans ? m : n;
  product(ta, CblasNoTrans, rows, 1, columns, alpha, a, lda, x, columns, beta, y, rows);
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void cblas_dsyrk(CBLAS_ORDER, CBLAS_UPLO, CBLAS_TRANSPOSE ta, int n, int k, double alpha,
                 const double* a, int lda, double beta, double* c, int ldc) {
  rank_update(ta, n, k, alpha, a, lda, beta, c, ldc);
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void cblas_ssyrk(CBLAS_ORDER, CBLAS_UPLO, CBLAS_TRANSPOSE ta, int n, int k, float alpha,
                 const float* a, int lda, float beta, float* c, int ldc) {
  rank_update(ta, n, k, alpha, a, lda, beta, c, ldc);
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void cblas_dtrmm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO, CBLAS_TRANSPOSE ta, CBLAS_DIAG, int m,
                 int n, double alpha, const double* a, int lda, double* b, int ldb) {
  const int order = side == CblasLeft ? m : n;
  const Matrix<double> lower =
      In<double>(a, order, order, Eigen::OuterStride<>(lda)).triangularView<Eigen::Lower>();
  const Matrix<double> old = Out<double>(b, m, n, Eigen::OuterStride<>(ldb));
  if (side == CblasLeft) {
    product(ta, CblasNoTrans, m, n, m, alpha, lower.data(), m, old.data(), m, 0.0, b, ldb);
  } else {
    product(CblasNoTrans, ta, m, n, n, alpha, old.data(), m, lower.data(), n, 0.0, b, ldb);
  }
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void cblas_dtrsm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO, CBLAS_TRANSPOSE ta, CBLAS_DIAG, int m,
                 int n, double alpha, const double* a, int lda, double* b, int ldb) {
  triangular_solve(side, ta, m, n, alpha, a, lda, b, ldb);
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void cblas_strsm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO, CBLAS_TRANSPOSE ta, CBLAS_DIAG, int m,
                 int n, float alpha, const float* a, int lda, float* b, int ldb) {
  triangular_solve(side, ta, m, n, alpha, a, lda, b, ldb);
}

void dpotrf_(const char*, const int* n, double* a, const int* lda, int* info) {
  Eigen::Ref<Matrix<double>, 0, Eigen::OuterStride<>> whole = square(a, *n, *lda);
  const Eigen::LLT<Eigen::Ref<Matrix<double>, 0, Eigen::OuterStride<>>> factor(whole);
  *info = factor.info() == Eigen::Success ? 0 : 1;
}

/// L^T L.
void dlauum_(const char*, const int* n, double* a, const int* lda, int* info) {
  const Matrix<double> lower = square(a, *n, *lda).triangularView<Eigen::Lower>();
  square(a, *n, *lda).triangularView<Eigen::Lower>() = lower.transpose() * lower;
  *info = 0;
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void dsyevd_(const char* job, const char*, const int* n, double* a, const int* lda, double* values,
             double* work, const int* lwork, int* iwork, const int*, int* info) {
  *info = 0;
  if (*lwork == -1) {  // asked for the size of its workspace
    *work = 1.0;
    *iwork = 1;
    return;
  }
  const Eigen::SelfAdjointEigenSolver<Matrix<double>> solver(
      square(a, *n, *lda), *job == 'V' ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  *info = solver.info() == Eigen::Success ? 0 : 1;
  Eigen::Map<Eigen::VectorXd>(values, *n) = solver.eigenvalues();
  if (*job == 'V') square(a, *n, *lda) = solver.eigenvectors();
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work,
             const int* lwork, int* info) {
  *info = 0;
  *work = 1.0;
  if (*lwork == -1) return;
  Out<double> matrix(a, *m, *n, Eigen::OuterStride<>(*lda));
  const Eigen::HouseholderQR<Matrix<double>> factor(matrix);
  matrix = factor.matrixQR();
  Eigen::Map<Eigen::VectorXd>(tau, std::min(*m, *n)) = factor.hCoeffs();
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void dgeqp3_(const int* m, const int* n, double* a, const int* lda, int* places, double* tau,
             double* work, const int* lwork, int* info) {
  *info = 0;
  *work = 1.0;
  if (*lwork == -1) return;
  Out<double> matrix(a, *m, *n, Eigen::OuterStride<>(*lda));
  const Eigen::ColPivHouseholderQR<Matrix<double>> factor(matrix);
  matrix = factor.matrixQR();
  Eigen::Map<Eigen::VectorXd>(tau, std::min(*m, *n)) = factor.hCoeffs();
  Eigen::Map<Eigen::VectorXi>(places, *n) = factor.colsPermutation().indices().array() + 1;
}

// NOLINTNEXTLINE(readability-function-size): BLAS's parameters
void dormqr_(const char*, const char* transpose, const int* m, const int* n, const int* k,
             const double* a, const int* lda, const double* tau, double* c, const int* ldc,
             double* work, const int* lwork, int* info) {
  *info = 0;
  *work = 1.0;
  if (*lwork == -1) return;
  const In<double> reflections(a, *m, *k, Eigen::OuterStride<>(*lda));
  const Eigen::Map<const Eigen::VectorXd> scales(tau, *k);
  const Eigen::HouseholderSequence<In<double>, Eigen::Map<const Eigen::VectorXd>> q(reflections,
                                                                                    scales);
  Out<double> out(c, *m, *n, Eigen::OuterStride<>(*ldc));
  if (*transpose == 'T') {
    out.applyOnTheLeft(q.transpose());
  } else {
    out.applyOnTheLeft(q);
  }
}
}
// NOLINTEND(readability-identifier-naming)
