// Compiled with -mavx512f -mavx512dq -mavx512vl -mfma (src/CMakeLists.txt).
#define HEADWAY_KERNELS avx512_row_kernels_set
#define HEADWAY_LANES 16
#include "training/kernels/cpu/row_kernel_set.hpp"

namespace headway::training::detail {

const RowKernels& avx512_row_kernels() {
  static const RowKernels kernels = avx512_row_kernels_set::row_kernel_set("avx512");
  return kernels;
}

}  // namespace headway::training::detail
