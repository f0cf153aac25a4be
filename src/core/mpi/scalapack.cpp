// Built where ScaLAPACK is found (libscalapack-openmpi-dev), which comes without headers.
#include "core/mpi/scalapack.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "core/fail.hpp"

// NOLINTBEGIN(readability-identifier-naming): ScaLAPACK's
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
// Fortran: the lengths of character arguments come last.
void pdpotrf_(const char* uplo, const int* n, double* a, const int* ia, const int* ja,
              const int* desca, int* info, std::size_t uplo_length);
void pdpotrs_(const char* uplo, const int* n, const int* nrhs, const double* a, const int* ia,
              const int* ja, const int* desca, double* b, const int* ib, const int* jb,
              const int* descb, int* info, std::size_t uplo_length);
void pdpotri_(const char* uplo, const int* n, double* a, const int* ia, const int* ja,
              const int* desca, int* info, std::size_t uplo_length);
}
// NOLINTEND(readability-identifier-naming)

namespace headway::detail {
namespace {

constexpr int kOne = 1;
constexpr const char* kLower = "L";
using Descriptor = std::array<int, 9>;

class ScalapackCholesky final : public SharedCholesky {
 public:
  explicit ScalapackCholesky(const SharedSquare& place) : place_(place) {
    constexpr auto kMost = static_cast<Index>(std::numeric_limits<int>::max());
    // Every rank checks the part of the first, which is the largest: so all throw, or none.
    const SharedSquare first(place.rows.size, place.grid.rows * place.grid.columns, 0);
    const Index numbers = first.rows.count() * first.columns.count();
    if (numbers > kMost || place.rows.size > kMost) {
      fail(ErrorKind::kBadStudy,
           "a matrix of {} rows on {} x {} ranks gives one rank {} numbers; allowed: at most {}. "
           "Use more ranks",
           place.rows.size, place.grid.rows, place.grid.columns, numbers, kMost);
    }
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridinit(&context_, "Row-major", place.grid.rows, place.grid.columns);
    size_ = static_cast<int>(place.rows.size);
    const auto block = static_cast<int>(place.rows.block);
    const int leading = std::max(1, static_cast<int>(place.rows.count()));
    matrix_ = {1, context_, size_, size_, block, block, 0, 0, leading};
    vector_ = {1, context_, size_, 1, block, block, 0, 0, leading};
  }
  ~ScalapackCholesky() override {
    if (place_.grid.has_place()) Cblacs_gridexit(context_);
  }
  ScalapackCholesky(const ScalapackCholesky&) = delete;
  ScalapackCholesky& operator=(const ScalapackCholesky&) = delete;

  bool factor(MatrixXd& a) override {
    if (!place_.grid.has_place()) return true;
    int info = 0;
    pdpotrf_(kLower, &size_, a.data(), &kOne, &kOne, matrix_.data(), &info, 1);
    require(info, "pdpotrf");
    return info == 0;
  }
  void solve(const MatrixXd& l, VectorXd& b) override {
    if (!place_.grid.has_place()) return;
    int info = 0;
    pdpotrs_(kLower, &size_, &kOne, l.data(), &kOne, &kOne, matrix_.data(), b.data(), &kOne, &kOne,
             vector_.data(), &info, 1);
    require(info, "pdpotrs");
  }
  void invert(MatrixXd& l) override {
    if (!place_.grid.has_place()) return;
    int info = 0;
    pdpotri_(kLower, &size_, l.data(), &kOne, &kOne, matrix_.data(), &info, 1);
    require(info, "pdpotri");
  }

 private:
  /// Positive: a property of the matrix; negative: of the call.
  static void require(int info, const char* what) {
    if (info < 0) fail(ErrorKind::kInternal, "ScaLAPACK: {} failed ({})", what, info);
  }

  SharedSquare place_;
  int context_ = -1;
  int size_ = 0;
  Descriptor matrix_{}, vector_{};
};

}  // namespace

std::unique_ptr<SharedCholesky> make_scalapack_cholesky(const SharedSquare& place) {
  return std::make_unique<ScalapackCholesky>(place);
}

}  // namespace headway::detail
