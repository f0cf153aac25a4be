#include "headway/core/cpu.hpp"

namespace headway {

bool has_instruction_set(InstructionSet set) {
#ifdef HEADWAY_X86_KERNELS
  switch (set) {
    case InstructionSet::kBaseline:
      return true;
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    case InstructionSet::kAvx512:
      return has_instruction_set(InstructionSet::kAvx2) && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  }
#endif
  return set == InstructionSet::kBaseline;
}

InstructionSet best_instruction_set() {
  static const InstructionSet best = [] {
    if (has_instruction_set(InstructionSet::kAvx512)) return InstructionSet::kAvx512;
    if (has_instruction_set(InstructionSet::kAvx2)) return InstructionSet::kAvx2;
    return InstructionSet::kBaseline;
  }();
  return best;
}

}  // namespace headway
