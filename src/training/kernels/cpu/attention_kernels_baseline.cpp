// Compiled without flags of its own: for what every machine of the architecture has.
#define HEADWAY_KERNELS baseline_kernels
#define HEADWAY_LANES 4
#include "training/kernels/cpu/attention_kernel_set.hpp"

namespace headway::training::detail {

const AttentionKernels& baseline_attention_kernels() {
  static const AttentionKernels kernels = baseline_kernels::kernel_set("baseline");
  return kernels;
}

}  // namespace headway::training::detail
