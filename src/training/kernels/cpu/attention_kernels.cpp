#include "training/kernels/cpu/attention_kernels.hpp"

namespace headway::training::detail {

const AttentionKernels* attention_kernels(InstructionSet set) {
  if (!has_instruction_set(set)) return nullptr;
#ifdef HEADWAY_X86_KERNELS
  switch (set) {
    case InstructionSet::kAvx512:
      return &avx512_attention_kernels();
    case InstructionSet::kAvx2:
      return &avx2_attention_kernels();
    case InstructionSet::kBaseline:
      break;
  }
#endif
  return &baseline_attention_kernels();
}

const AttentionKernels& best_attention_kernels() {
  static const AttentionKernels& best = *attention_kernels(best_instruction_set());
  return best;
}

}  // namespace headway::training::detail
