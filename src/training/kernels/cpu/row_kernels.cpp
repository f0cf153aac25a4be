#include "training/kernels/cpu/row_kernels.hpp"

#include "headway/core/cpu.hpp"

namespace headway::training::detail {

const RowKernels& row_kernels() {
#ifdef HEADWAY_X86_KERNELS
  switch (best_instruction_set()) {
    case InstructionSet::kAvx512:
      return avx512_row_kernels();
    case InstructionSet::kAvx2:
      return avx2_row_kernels();
    case InstructionSet::kBaseline:
      break;
  }
#endif
  return baseline_row_kernels();
}

}  // namespace headway::training::detail
