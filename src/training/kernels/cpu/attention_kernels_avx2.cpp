// Compiled with -mavx2 -mfma (src/CMakeLists.txt).
#define HEADWAY_KERNELS avx2_kernels
#define HEADWAY_LANES 8
#include "training/kernels/cpu/attention_kernel_set.hpp"

namespace headway::training::detail {

const AttentionKernels& avx2_attention_kernels() {
  static const AttentionKernels kernels = avx2_kernels::kernel_set("AVX2");
  return kernels;
}

}  // namespace headway::training::detail
