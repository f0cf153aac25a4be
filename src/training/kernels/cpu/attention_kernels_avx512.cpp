// Compiled with -mavx512f -mavx512dq -mavx512vl -mfma (src/CMakeLists.txt).
#define HEADWAY_KERNELS avx512_kernels
#define HEADWAY_LANES 16
#include "training/kernels/cpu/attention_kernel_set.hpp"

namespace headway::training::detail {

const AttentionKernels& avx512_attention_kernels() {
  static const AttentionKernels kernels = avx512_kernels::kernel_set("AVX-512");
  return kernels;
}

}  // namespace headway::training::detail
