#include "training/attention_kernels.hpp"

namespace headway::training::detail {

const AttentionKernels* attention_kernels(AttentionKernelSet set) {
  if (set == AttentionKernelSet::kBaseline) return &baseline_attention_kernels();
#ifdef HEADWAY_X86_KERNELS
  const bool fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (set == AttentionKernelSet::kAvx2) return fma ? &avx2_attention_kernels() : nullptr;
  const bool wide = __builtin_cpu_supports("avx512f") != 0 &&
                    __builtin_cpu_supports("avx512dq") != 0 &&
                    __builtin_cpu_supports("avx512vl") != 0;
  if (set == AttentionKernelSet::kAvx512 && fma && wide) return &avx512_attention_kernels();
#endif
  return nullptr;
}

const AttentionKernels& best_attention_kernels() {
  static const AttentionKernels& best = []() -> const AttentionKernels& {
    for (const auto set : {AttentionKernelSet::kAvx512, AttentionKernelSet::kAvx2}) {
      if (const AttentionKernels* kernels = attention_kernels(set)) return *kernels;
    }
    return baseline_attention_kernels();
  }();
  return best;
}

}  // namespace headway::training::detail
