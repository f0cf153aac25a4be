// Compiled with -mavx2 -mfma (src/CMakeLists.txt).
#define HEADWAY_KERNELS avx2_row_kernels_set
#define HEADWAY_LANES 8
#include "training/kernels/cpu/row_kernel_set.hpp"

namespace headway::training::detail {

const RowKernels& avx2_row_kernels() {
  static const RowKernels kernels = avx2_row_kernels_set::row_kernel_set("avx2");
  return kernels;
}

}  // namespace headway::training::detail
