#include "headway/numerics/orthogonal.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "headway/error.hpp"

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): Fortran's names
void dgeqp3_(const int* m, const int* n, double* a, const int* lda, int* jpvt, double* tau,
             double* work, const int* lwork, int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work,
             const int* lwork, int* info);
void dormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k,
             const double* a, const int* lda, const double* tau, double* c, const int* ldc,
             double* work, const int* lwork, int* info);
// NOLINTEND(readability-identifier-naming)
}

namespace headway::numerics {
namespace {

/// Calls a LAPACK function twice: for the size of its workspace, and with it.
template <class Function>
void with_workspace(const char* name, const Function& call) {
  double size = 0.0;
  int lwork = -1;
  int info = 0;
  call(&size, &lwork, &info);
  lwork = std::max(1, static_cast<int>(size));
  std::vector<double> work(static_cast<std::size_t>(lwork));
  call(work.data(), &lwork, &info);
  if (info == 0) return;
  throw Error(ErrorKind::kInternal,
              std::string("LAPACK ") + name + " failed with info = " + std::to_string(info));
}

}  // namespace

OrthogonalFactor OrthogonalFactor::factor(MatrixXd a, bool pivot) {
  OrthogonalFactor result;
  const int m = static_cast<int>(a.rows());
  const int n = static_cast<int>(a.cols());
  const Index least = std::min(m, n);
  result.scales_.resize(least);
  result.order_.resize(static_cast<std::size_t>(n));
  std::iota(result.order_.begin(), result.order_.end(), Index{0});
  if (least > 0 && pivot) {
    std::vector<int> places(static_cast<std::size_t>(n), 0);  // 0: a column may move
    with_workspace("dgeqp3", [&](double* work, const int* lwork, int* info) {
      dgeqp3_(&m, &n, a.data(), &m, places.data(), result.scales_.data(), work, lwork, info);
    });
    std::transform(places.begin(), places.end(), result.order_.begin(),
                   [](int place) { return static_cast<Index>(place) - 1; });
  } else if (least > 0) {
    with_workspace("dgeqrf", [&](double* work, const int* lwork, int* info) {
      dgeqrf_(&m, &n, a.data(), &m, result.scales_.data(), work, lwork, info);
    });
  }
  result.r_ = a.topRows(least).triangularView<Eigen::Upper>();
  result.reflections_ = std::move(a);
  return result;
}

MatrixXd OrthogonalFactor::apply(const char* transpose, MatrixXd b) const {
  const int m = static_cast<int>(b.rows());
  const int n = static_cast<int>(b.cols());
  const int k = static_cast<int>(scales_.size());
  if (k == 0 || n == 0) return b;
  with_workspace("dormqr", [&](double* work, const int* lwork, int* info) {
    dormqr_("L", transpose, &m, &n, &k, reflections_.data(), &m, scales_.data(), b.data(), &m, work,
            lwork, info);
  });
  return b;
}

MatrixXd OrthogonalFactor::rotate(MatrixXd b) const { return apply("T", std::move(b)); }
MatrixXd OrthogonalFactor::rotate_back(MatrixXd b) const { return apply("N", std::move(b)); }

}  // namespace headway::numerics
