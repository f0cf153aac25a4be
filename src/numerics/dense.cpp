#include "headway/numerics/dense.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "headway/error.hpp"

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): Fortran's names
// LAPACK, Fortran interface (declared here: Debian's OpenBLAS ships no LAPACKE).
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dlauum_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
             double* work, const int* lwork, int* iwork, const int* liwork, int* info);
void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda, double* s,
             double* u, const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork,
             int* iwork, int* info);
void dsteqr_(const char* compz, const int* n, double* d, double* e, double* z, const int* ldz,
             double* work, int* info);
// NOLINTEND(readability-identifier-naming)
}

namespace headway::numerics {
namespace {

// BLAS and LAPACK count in 32 bits. A larger number would wrap, and they would compute something
// else without a word.
int as_int(Index n) {
  if (n > std::numeric_limits<int>::max()) {
    throw Error(
        ErrorKind::kUnavailable,
        fmt::format("a matrix of {} rows or columns: must be at most {}, which is as far as "
                    "BLAS and LAPACK count. Take fewer examples or features",
                    n, std::numeric_limits<int>::max()));
  }
  return static_cast<int>(n);
}

CBLAS_TRANSPOSE cblas(Transpose t) { return t == Transpose::kYes ? CblasTrans : CblasNoTrans; }

constexpr Index kTile = 32;  // both the rows read and the columns written stay in L1

template <class Matrix>
void mirror_lower_tiled(Matrix& a) {
  const Index n = a.rows();
  for (Index jj = 0; jj < n; jj += kTile) {
    for (Index ii = jj; ii < n; ii += kTile) {
      for (Index j = jj; j < std::min(n, jj + kTile); ++j) {
        for (Index i = std::max(ii, j + 1); i < std::min(n, ii + kTile); ++i) a(j, i) = a(i, j);
      }
    }
  }
}

/// Inverse of a lower-triangular matrix in place: [A 0; C B]^{-1} = [A^{-1} 0; -B^{-1} C A^{-1}
/// B^{-1}]. Both halves are inverted first, so that the corner is two triangular products (no
/// substitution): 3 times faster than dtrtri.
void invert_lower(double* a, Index n, Index ld) {
  constexpr Index kBase = 16;
  if (n <= kBase) {
    for (Index j = 0; j < n; ++j) a[j * ld + j] = 1.0 / a[j * ld + j];
    for (Index j = n - 2; j >= 0; --j) {  // columns right of j are inverted already
      double* column = a + j * ld;
      for (Index i = n - 1; i > j; --i) {
        double sum = 0.0;
        for (Index k = j + 1; k <= i; ++k) sum += a[k * ld + i] * column[k];
        column[i] = -sum * column[j];
      }
    }
    return;
  }
  const Index m = (n / 2 + 7) / 8 * 8;
  double* below = a + m;
  double* corner = a + m * ld + m;
  invert_lower(a, m, ld);
  invert_lower(corner, n - m, ld);
  cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, as_int(n - m),
              as_int(m), -1.0, a, as_int(ld), below, as_int(ld));
  cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, as_int(n - m),
              as_int(m), 1.0, corner, as_int(ld), below, as_int(ld));
}

template <class In, class Out>
void transpose_tiled(const In& a, Out& out) {
  for (Index jj = 0; jj < a.cols(); jj += kTile) {
    const Index columns = std::min(kTile, a.cols() - jj);
    for (Index ii = 0; ii < a.rows(); ii += kTile) {
      const Index rows = std::min(kTile, a.rows() - ii);
      out.block(jj, ii, columns, rows) = a.block(ii, jj, rows, columns).transpose();
    }
  }
}

/// The leading dimension of a column-major matrix. BLAS refuses 0, as matrices without columns
/// have.
template <class Matrix>
int leading(const Matrix& a) {
  return as_int(std::max<Index>(1, a.outerStride()));
}

// Products of fewer multiplications are written out: the call alone costs BLAS as much.
constexpr Index kSmallProduct = 256;

/// Strips of four entries of a column of C: their sums stay in registers.
// NOLINTNEXTLINE(readability-function-size): the arguments of BLAS's gemm
template <Transpose kOfA, Transpose kOfB>
void multiply_small(double alpha, const ConstMatrixRef& a, const ConstMatrixRef& b, double beta,
                    MatrixRef& c) {
  constexpr Index kStrip = 4;
  constexpr bool kTurnedA = kOfA == Transpose::kYes, kTurnedB = kOfB == Transpose::kYes;
  const Index terms = kTurnedA ? a.rows() : a.cols();
  const Index row_step = kTurnedA ? a.outerStride() : 1, term_step = kTurnedA ? 1 : a.outerStride();
  const Index factor_step = kTurnedB ? b.outerStride() : 1;
  const auto put = [&](double& out, double sum) {
    out = beta == 0.0 ? alpha * sum : beta * out + alpha * sum;
  };
  for (Index j = 0; j < c.cols(); ++j) {
    const double* factors = b.data() + (kTurnedB ? j : j * b.outerStride());
    double* out = c.data() + j * c.outerStride();
    Index i = 0;
    for (; i + kStrip <= c.rows(); i += kStrip) {
      const double* rows = a.data() + i * row_step;
      double sum_0 = 0.0, sum_1 = 0.0, sum_2 = 0.0, sum_3 = 0.0;
      for (Index k = 0; k < terms; ++k) {
        const double* term = rows + k * term_step;
        const double factor = factors[k * factor_step];
        sum_0 += term[0] * factor;
        sum_1 += term[row_step] * factor;
        sum_2 += term[2 * row_step] * factor;
        sum_3 += term[3 * row_step] * factor;
      }
      put(out[i], sum_0);
      put(out[i + 1], sum_1);
      put(out[i + 2], sum_2);
      put(out[i + 3], sum_3);
    }
    for (; i < c.rows(); ++i) {
      double sum = 0.0;
      for (Index k = 0; k < terms; ++k) {
        sum += a.data()[i * row_step + k * term_step] * factors[k * factor_step];
      }
      put(out[i], sum);
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): the arguments of BLAS's gemm
void multiply(double alpha, const ConstMatrixRef& a, Transpose ta, const ConstMatrixRef& b,
              Transpose tb, double beta, MatrixRef c) {
  const Index k = ta == Transpose::kYes ? a.rows() : a.cols();
  if (c.size() == 0) return;
  if (c.size() * k <= kSmallProduct) {
    constexpr Transpose kNo = Transpose::kNo, kYes = Transpose::kYes;
    if (ta == kNo && tb == kNo) multiply_small<kNo, kNo>(alpha, a, b, beta, c);
    if (ta == kNo && tb == kYes) multiply_small<kNo, kYes>(alpha, a, b, beta, c);
    if (ta == kYes && tb == kNo) multiply_small<kYes, kNo>(alpha, a, b, beta, c);
    if (ta == kYes && tb == kYes) multiply_small<kYes, kYes>(alpha, a, b, beta, c);
    return;
  }
  cblas_dgemm(CblasColMajor, cblas(ta), cblas(tb), as_int(c.rows()), as_int(c.cols()), as_int(k),
              alpha, a.data(), leading(a), b.data(), leading(b), beta, c.data(), leading(c));
}

VectorXd multiply_vector(const ConstMatrixRef& a, Transpose ta, const VectorXd& x) {
  VectorXd y = VectorXd::Zero(ta == Transpose::kYes ? a.cols() : a.rows());
  if (a.size() == 0) return y;
  cblas_dgemv(CblasColMajor, cblas(ta), as_int(a.rows()), as_int(a.cols()), 1.0, a.data(),
              leading(a), x.data(), 1, 0.0, y.data(), 1);
  return y;
}

void rank_update_lower(double alpha, const ConstMatrixRef& a, Transpose ta, double beta,
                       MatrixRef c) {
  const Index k = ta == Transpose::kYes ? a.rows() : a.cols();
  if (c.size() == 0) return;
  cblas_dsyrk(CblasColMajor, CblasLower, cblas(ta), as_int(c.rows()), as_int(k), alpha, a.data(),
              leading(a), beta, c.data(), leading(c));
}

// NOLINTNEXTLINE(readability-function-size): the arguments of BLAS's gemm
void multiply(float alpha, const ConstMatrixRefF& a, Transpose ta, const ConstMatrixRefF& b,
              Transpose tb, float beta, MatrixRefF c) {
  const Index k = ta == Transpose::kYes ? a.rows() : a.cols();
  if (c.size() == 0) return;
  cblas_sgemm(CblasColMajor, cblas(ta), cblas(tb), as_int(c.rows()), as_int(c.cols()), as_int(k),
              alpha, a.data(), leading(a), b.data(), leading(b), beta, c.data(), leading(c));
}

void rank_update_lower(float alpha, const ConstMatrixRefF& a, Transpose ta, float beta,
                       MatrixRefF c) {
  const Index k = ta == Transpose::kYes ? a.rows() : a.cols();
  if (c.size() == 0) return;
  cblas_ssyrk(CblasColMajor, CblasLower, cblas(ta), as_int(c.rows()), as_int(k), alpha, a.data(),
              leading(a), beta, c.data(), leading(c));
}

void mirror_lower(MatrixRef a) { mirror_lower_tiled(a); }
void mirror_lower(MatrixRefF a) { mirror_lower_tiled(a); }

double largest_entry(const ConstMatrixRef& a) {
  if (a.size() == 0) return 0.0;
  return a.allFinite() ? a.cwiseAbs().maxCoeff() : std::numeric_limits<double>::infinity();
}

void transpose_into(const ConstMatrixRef& a, MatrixRef out) { transpose_tiled(a, out); }
void transpose_into(const ConstMatrixRefF& a, MatrixRefF out) { transpose_tiled(a, out); }

std::optional<SpdFactor> SpdFactor::factor(MatrixXd a) {
  SpdFactor result;
  const int n = as_int(a.rows());
  int info = 0;
  if (n > 0) dpotrf_("L", &n, a.data(), &n, &info);
  if (info != 0) return std::nullopt;
  for (Index j = 0; j < n; ++j) {
    if (!std::isfinite(a(j, j))) return std::nullopt;
  }
  a.triangularView<Eigen::StrictlyUpper>().setZero();
  result.lower_ = std::move(a);
  return result;
}

double SpdFactor::log_determinant() const { return 2.0 * lower_.diagonal().array().log().sum(); }

double SpdFactor::condition_estimate() const {
  if (size() == 0) return 1.0;
  const double ratio = lower_.diagonal().maxCoeff() / lower_.diagonal().minCoeff();
  return ratio * ratio;
}

MatrixXd SpdFactor::solve(MatrixXd b) const {
  half_solve(b);
  half_solve_transposed(b);
  return b;
}

void SpdFactor::half_solve(MatrixRef b) const {
  if (b.size() == 0) return;
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, as_int(b.rows()),
              as_int(b.cols()), 1.0, lower_.data(), as_int(size()), b.data(), leading(b));
}

void SpdFactor::half_solve_transposed(MatrixRef b) const {
  if (b.size() == 0) return;
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, as_int(b.rows()),
              as_int(b.cols()), 1.0, lower_.data(), as_int(size()), b.data(), leading(b));
}

void SpdFactor::half_solve(MatrixRefF b) const {
  if (b.size() == 0) return;
  const MatrixXf l = lower_.cast<float>();
  cblas_strsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, as_int(b.rows()),
              as_int(b.cols()), 1.0F, l.data(), as_int(size()), b.data(), leading(b));
}

MatrixXd SpdFactor::inverse() const {
  // L^{-1} by recursion on matrix products, then A^{-1} = L^{-T} L^{-1} by dlauum. At n = 100 to
  // 600 this takes half the time of dpotri, whose dtrtri runs on small blocks.
  MatrixXd l = lower_;
  invert_lower(l.data(), size(), size());
  const int n = as_int(size());
  int info = 0;
  if (n > 0) dlauum_("L", &n, l.data(), &n, &info);
  mirror_lower(l);
  return l;
}

SymmetricEigen symmetric_eigen(MatrixXd a, bool vectors) {
  SymmetricEigen result;
  const int n = as_int(a.rows());
  if (vectors && n > kLargestEigenvectors) {
    throw Error(
        ErrorKind::kUnavailable,
        fmt::format("eigenvectors of a matrix of {} rows: must be at most {}, which is as far "
                    "as LAPACK's dsyevd counts its workspace",
                    n, kLargestEigenvectors));
  }
  result.values.resize(n);
  if (n == 0) return result;
  const char* job = vectors ? "V" : "N";
  int info = 0;
  int lwork = -1;
  int liwork = -1;
  double work_size = 0.0;
  int iwork_size = 0;
  dsyevd_(job, "L", &n, a.data(), &n, result.values.data(), &work_size, &lwork, &iwork_size,
          &liwork, &info);
  lwork = static_cast<int>(work_size);
  liwork = iwork_size;
  std::vector<double> work(static_cast<std::size_t>(lwork));
  std::vector<int> iwork(static_cast<std::size_t>(liwork));
  dsyevd_(job, "L", &n, a.data(), &n, result.values.data(), work.data(), &lwork, iwork.data(),
          &liwork, &info);
  if (info != 0) {
    throw Error(ErrorKind::kInternal,
                "symmetric_eigen: LAPACK dsyevd failed with info = " + std::to_string(info));
  }
  if (vectors) result.vectors = std::move(a);
  return result;
}

SingularValues singular_values(MatrixXd a) {
  const int m = as_int(a.rows());
  const int n = as_int(a.cols());
  const int least = std::min(m, n);
  if (least > kLargestSingularVectors) {
    throw Error(ErrorKind::kUnavailable,
                fmt::format("singular vectors of a matrix of {} x {}: the shorter side must be at "
                            "most {}, which is as far as LAPACK's dgesdd counts its workspace",
                            m, n, kLargestSingularVectors));
  }
  SingularValues result{VectorXd(least), MatrixXd(m, least), MatrixXd(n, least)};
  if (least == 0) return result;
  MatrixXd right(least, n);
  std::vector<int> iwork(8 * static_cast<std::size_t>(least));
  int info = 0;
  int lwork = -1;
  double work_size = 0.0;
  dgesdd_("S", &m, &n, a.data(), &m, result.values.data(), result.left.data(), &m, right.data(),
          &least, &work_size, &lwork, iwork.data(), &info);
  lwork = static_cast<int>(work_size);
  std::vector<double> work(static_cast<std::size_t>(lwork));
  dgesdd_("S", &m, &n, a.data(), &m, result.values.data(), result.left.data(), &m, right.data(),
          &least, work.data(), &lwork, iwork.data(), &info);
  if (info != 0) {
    throw Error(ErrorKind::kInternal,
                "singular_values: LAPACK dgesdd failed with info = " + std::to_string(info));
  }
  result.right = right.transpose();
  return result;
}

SymmetricEigen tridiagonal_eigen(VectorXd diagonal, VectorXd below) {
  SymmetricEigen result;
  const int n = as_int(diagonal.size());
  result.vectors.resize(n, n);
  if (!diagonal.allFinite() || !below.allFinite()) {
    diagonal.setConstant(std::numeric_limits<double>::quiet_NaN());
    result.vectors.setConstant(std::numeric_limits<double>::quiet_NaN());
  } else if (n > 0) {
    VectorXd work(std::max(1, 2 * n - 2));
    int info = 0;
    dsteqr_("I", &n, diagonal.data(), below.data(), result.vectors.data(), &n, work.data(), &info);
    if (info != 0) {
      throw Error(ErrorKind::kInternal,
                  "tridiagonal_eigen: LAPACK dsteqr failed with info = " + std::to_string(info));
    }
  }
  result.values = std::move(diagonal);
  return result;
}

}  // namespace headway::numerics
