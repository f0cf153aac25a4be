#include "training/torch/matrix_product.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <thread>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"

#ifdef HEADWAY_ONEDNN
#include <dnnl.h>

#include "headway/numerics/dense.hpp"
#elif defined(HEADWAY_TORCH_SGEMM)
// The BLAS inside LibTorch, by its Fortran name.
extern "C" void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda,
                       const float* b, const int* ldb, const float* beta, float* c, const int* ldc);
#else
#include "training/torch/headers.hpp"
#endif

namespace headway::training::detail {
namespace {

#ifdef HEADWAY_ONEDNN

// NOLINTNEXTLINE(readability-function-size): MatrixProduct
void onednn_product(bool transpose_a, bool transpose_b, Index m, Index n, Index k, const float* a,
                    Index lda, const float* b, Index ldb, float beta, float* c, Index ldc) {
  const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k,
                                          1.0F, a, lda, b, ldb, beta, c, ldc);
  if (status != dnnl_success) {
    throw Error(ErrorKind::kInternal, "oneDNN refused a matrix product");
  }
}

constexpr Index kLargeResult = Index{1} << 16U;

/// Without AVX-512, oneDNN's a^T b with a large result, which is the gradient of a wide weight,
/// runs at a quarter to nine tenths of OpenBLAS's rate; every other product as fast or up to a
/// fifth faster. The rule is by shape alone, never by timing: a run that goes on has the same bits.
// NOLINTNEXTLINE(readability-function-size): MatrixProduct
void product_without_avx512(bool transpose_a, bool transpose_b, Index m, Index n, Index k,
                            const float* a, Index lda, const float* b, Index ldb, float beta,
                            float* c, Index ldc) {
  if (!transpose_a || transpose_b || m * n < kLargeResult) {
    onednn_product(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
    return;
  }
  // Rows one after the other are the columns of a transposed matrix: c^T = b^T a.
  using Strides = Eigen::OuterStride<>;
  using Matrix = Eigen::Map<const numerics::MatrixXf, 0, Strides>;
  Eigen::Map<numerics::MatrixXf, 0, Strides> result(c, n, m, Strides(ldc));
  numerics::multiply(1.0F, Matrix(b, n, k, Strides(ldb)), numerics::Transpose::kNo,
                     Matrix(a, m, k, Strides(lda)), numerics::Transpose::kYes, beta, result);
}

MatrixProduct choose_product(InstructionSet set) {
  return set == InstructionSet::kAvx512 ? onednn_product : product_without_avx512;
}
constexpr const char* kName = "oneDNN " HEADWAY_ONEDNN;

#elif defined(HEADWAY_TORCH_SGEMM)

// Fortran's matrices have their columns one after the other: c^T = b^T a^T.
// NOLINTNEXTLINE(readability-function-size): MatrixProduct
void product(bool transpose_a, bool transpose_b, Index m, Index n, Index k, const float* a,
             Index lda, const float* b, Index ldb, float beta, float* c, Index ldc) {
  const auto size = [](Index x) { return static_cast<int>(x); };
  const int sizes[] = {size(n), size(m), size(k), size(ldb), size(lda), size(ldc)};
  const float one = 1.0F;
  sgemm_(transpose_b ? "T" : "N", transpose_a ? "T" : "N", &sizes[0], &sizes[1], &sizes[2], &one, b,
         &sizes[3], a, &sizes[4], &beta, c, &sizes[5]);
}
MatrixProduct choose_product(InstructionSet) { return product; }
constexpr const char* kName = "LibTorch's BLAS";

#else

at::Tensor matrix(const float* data, bool transposed, Index rows, Index columns, Index stride) {
  auto* numbers = const_cast<float*>(data);  // NOLINT: LibTorch has no view of constant numbers
  return transposed ? at::from_blob(numbers, {rows, columns}, {1, stride}, at::kFloat)
                    : at::from_blob(numbers, {rows, columns}, {stride, 1}, at::kFloat);
}

// NOLINTNEXTLINE(readability-function-size): MatrixProduct
void product(bool transpose_a, bool transpose_b, Index m, Index n, Index k, const float* a,
             Index lda, const float* b, Index ldb, float beta, float* c, Index ldc) {
  const at::NoGradGuard no_gradient;
  at::Tensor result = matrix(c, false, m, n, ldc);
  at::addmm_out(result, result, matrix(a, transpose_a, m, k, lda),
                matrix(b, transpose_b, k, n, ldb), beta, 1.0F);
}
MatrixProduct choose_product(InstructionSet) { return product; }
constexpr const char* kName = "LibTorch's operations";

#endif

}  // namespace

MatrixProduct matrix_product(InstructionSet set) { return choose_product(set); }

const char* matrix_product_name() { return kName; }

void require_library_threads() {
  const int wanted = 2 * static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int possible = startable_threads(wanted);
  if (possible == wanted) return;
  throw Error(ErrorKind::kUnavailable,
              fmt::format("LibTorch needs {} threads, and only {} can be started: not enough "
                          "memory, or a limit on threads (ulimit -u, or the container's)",
                          wanted, possible));
}

SerialLibraries::SerialLibraries() : threads_(omp_get_max_threads()) { omp_set_num_threads(1); }
SerialLibraries::~SerialLibraries() { omp_set_num_threads(threads_); }

}  // namespace headway::training::detail
