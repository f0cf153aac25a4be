#include "headway/numerics/fixed_point_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "headway/core/cpu.hpp"

namespace headway::numerics {
namespace {

#define HEADWAY_INLINE inline __attribute__((always_inline))

constexpr double kLargest = 2147483647.0;  // 2^31 - 1
constexpr Index kLanes = 8;
using Doubles = double __attribute__((vector_size(kLanes * sizeof(double))));
using Integers = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));

// Vector values never cross a function that is not inlined: their calling convention depends on the
// instruction set.
HEADWAY_INLINE void widen(const std::int32_t* from, Doubles& to) {
  Integers packed;
  std::memcpy(&packed, from, sizeof packed);
  to = __builtin_convertvector(packed, Doubles);
}

constexpr Index kRows = FixedPointColumns::kBlockRows;
constexpr Index kVectors = kRows / kLanes;

// sum = A x for one block: the sums stay in registers.
HEADWAY_INLINE void block_product(const std::int32_t* a, Index columns, const double* x,
                                  double* sum) {
  Doubles s[kVectors] = {};
  for (Index j = 0; j < columns; ++j, a += kRows) {
    for (Index k = 0; k < kVectors; ++k) {
      Doubles v;
      widen(a + k * kLanes, v);
      s[k] += x[j] * v;
    }
  }
  std::memcpy(sum, s, sizeof s);
}

// Adds the contribution of one block. The 8 numbers sums[8 j ...] add up to (A^T y)_j.
HEADWAY_INLINE void add_transposed_product(const std::int32_t* a, Index columns, const double* y,
                                           double* sums) {
  Doubles w[kVectors];
  std::memcpy(w, y, sizeof w);
  for (Index j = 0; j < columns; ++j, a += kRows, sums += kLanes) {
    Doubles even;
    std::memcpy(&even, sums, sizeof even);
    Doubles odd = {};
    for (Index k = 0; k < kVectors; k += 2) {
      Doubles v;
      widen(a + k * kLanes, v);
      even += v * w[k];
      widen(a + (k + 1) * kLanes, v);
      odd += v * w[k + 1];
    }
    even += odd;
    std::memcpy(sums, &even, sizeof even);
  }
}

using Product = void (*)(const std::int32_t*, Index, const double*, double*);
struct Products {
  Product plain, transposed;
};

void plain_baseline(const std::int32_t* a, Index columns, const double* x, double* sum) {
  block_product(a, columns, x, sum);
}
void transposed_baseline(const std::int32_t* a, Index columns, const double* y, double* sum) {
  add_transposed_product(a, columns, y, sum);
}

#ifdef HEADWAY_X86_KERNELS
__attribute__((target("avx2,fma"))) void plain_avx2(const std::int32_t* a, Index columns,
                                                    const double* x, double* sum) {
  block_product(a, columns, x, sum);
}
__attribute__((target("avx2,fma"))) void transposed_avx2(const std::int32_t* a, Index columns,
                                                         const double* y, double* sum) {
  add_transposed_product(a, columns, y, sum);
}
__attribute__((target("avx512f"))) void plain_avx512(const std::int32_t* a, Index columns,
                                                     const double* x, double* sum) {
  block_product(a, columns, x, sum);
}
__attribute__((target("avx512f"))) void transposed_avx512(const std::int32_t* a, Index columns,
                                                          const double* y, double* sum) {
  add_transposed_product(a, columns, y, sum);
}
#endif

Products best_products() {
#ifdef HEADWAY_X86_KERNELS
  switch (best_instruction_set()) {
    case InstructionSet::kAvx512:
      return {plain_avx512, transposed_avx512};
    case InstructionSet::kAvx2:
      return {plain_avx2, transposed_avx2};
    case InstructionSet::kBaseline:
      break;
  }
#endif
  return {plain_baseline, transposed_baseline};
}

const Products& products() {
  static const Products best = best_products();
  return best;
}

}  // namespace

FixedPointColumns::FixedPointColumns(Index rows, Index columns)
    : rows_(rows), units_(VectorXd::Zero(columns)) {
  data_.resize(static_cast<std::size_t>(blocks() * kBlockRows * columns), 0);
}

void FixedPointColumns::set_column(Index column, const VectorXd& values, Rng& rng) {
  const double largest = values.size() > 0 ? values.cwiseAbs().maxCoeff() : 0.0;
  units_[column] = largest / kLargest;
  const double scale = largest > 0.0 ? kLargest / largest : 0.0;
  for (Index b = 0; b < blocks(); ++b) {
    std::int32_t* out = data_.data() + (b * columns() + column) * kBlockRows;
    const Index first = b * kBlockRows;
    const Index count = std::min(kBlockRows, rows_ - first);
    for (Index i = 0; i < count; ++i) {
      const double units = std::clamp(values[first + i] * scale, -kLargest, kLargest);
      const double fraction = static_cast<double>(rng.next_u32()) * 0x1p-32;  // in [0, 1)
      out[i] = static_cast<std::int32_t>(std::floor(units + fraction));
    }
  }
}

VectorXd FixedPointColumns::multiply(const VectorXd& x) const {
  const VectorXd scaled = units_.cwiseProduct(x);
  VectorXd result(rows_);
  const Index whole = rows_ / kBlockRows;
  for (Index b = 0; b < whole; ++b)
    products().plain(block(b), columns(), scaled.data(), result.data() + b * kBlockRows);
  if (whole < blocks()) {
    double sum[kBlockRows];
    products().plain(block(whole), columns(), scaled.data(), sum);
    std::copy_n(sum, rows_ - whole * kBlockRows, result.data() + whole * kBlockRows);
  }
  return result;
}

VectorXd FixedPointColumns::multiply_transposed(const VectorXd& y) const {
  MatrixXd sums = MatrixXd::Zero(kLanes, columns());
  const Index whole = rows_ / kBlockRows;
  for (Index b = 0; b < whole; ++b)
    products().transposed(block(b), columns(), y.data() + b * kBlockRows, sums.data());
  if (whole < blocks()) {
    double padded[kBlockRows] = {};
    std::copy_n(y.data() + whole * kBlockRows, rows_ - whole * kBlockRows, padded);
    products().transposed(block(whole), columns(), padded, sums.data());
  }
  return sums.colwise().sum().transpose().cwiseProduct(units_);
}

}  // namespace headway::numerics
