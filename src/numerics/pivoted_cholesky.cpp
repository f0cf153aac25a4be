#include "headway/numerics/pivoted_cholesky.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <limits>

#include "headway/error.hpp"

extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming): Fortran's name
void dpstrf_(const char* uplo, const int* n, double* a, const int* lda, int* pivots, int* rank,
             const double* tolerance, double* work, int* info);
}

namespace headway::numerics {

PivotedCholesky::PivotedCholesky(MatrixXd a) {
  const Index size = a.rows();
  if (size > std::numeric_limits<int>::max()) {
    throw Error(ErrorKind::kUnavailable,
                fmt::format("a matrix of {} rows: must be at most {}, which is as far as LAPACK "
                            "counts. Take fewer examples",
                            size, std::numeric_limits<int>::max()));
  }
  const int n = static_cast<int>(size);
  pivots_.resize(static_cast<std::size_t>(n));
  if (n == 0) return;
  std::vector<double> work(2 * static_cast<std::size_t>(n));
  const double tolerance = -1.0;  // n eps times the largest diagonal entry
  int rank = 0, info = 0;
  dpstrf_("L", &n, a.data(), &n, pivots_.data(), &rank, &tolerance, work.data(), &info);
  rank_ = rank;
  triangle_ = a.topLeftCorner(rank_, rank_).triangularView<Eigen::Lower>();
  features_ = MatrixXd::Zero(size, rank_);
  for (Index i = 0; i < size; ++i) {
    const Index row = --pivots_[static_cast<std::size_t>(i)];
    const Index count = std::min(i + 1, rank_);
    features_.row(row).head(count) = a.row(i).head(count);
  }
}

MatrixXd PivotedCholesky::features_of(const MatrixXd& products) const {
  MatrixXd y(products.rows(), rank_);
  for (Index k = 0; k < rank_; ++k) y.col(k) = products.col(pivots_[static_cast<std::size_t>(k)]);
  if (y.size() == 0) return y;
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit,
              static_cast<int>(y.rows()), static_cast<int>(rank_), 1.0, triangle_.data(),
              static_cast<int>(rank_), y.data(), static_cast<int>(y.rows()));
  return y;
}

}  // namespace headway::numerics
