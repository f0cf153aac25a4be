#include "training/row_kernels.hpp"

#include "training/attention_kernels.hpp"

namespace headway::training::detail {

const RowKernels& row_kernels() {
#ifdef HEADWAY_X86_KERNELS
  const AttentionKernels* best = &best_attention_kernels();
  if (best == attention_kernels(AttentionKernelSet::kAvx512)) return avx512_row_kernels();
  if (best == attention_kernels(AttentionKernelSet::kAvx2)) return avx2_row_kernels();
#endif
  return baseline_row_kernels();
}

}  // namespace headway::training::detail
