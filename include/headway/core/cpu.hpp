#pragma once

// Kernels of wider instruction sets are compiled beside the portable ones where this is defined.
#if defined(__x86_64__) && defined(__GNUC__)
#define HEADWAY_X86_KERNELS 1
#endif

#include <string>

namespace headway {

/// The instruction sets that kernels are written for, each with what the one before it has:
/// kAvx2 is AVX2 with FMA, kAvx512 adds AVX-512 F, DQ and VL.
enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

/// Whether this machine and this build can run kernels of a set, and the environment allows it:
/// HEADWAY_INSTRUCTIONS is the widest one allowed, baseline, avx2 or avx512. Throws
/// Error{kUsage} if it is another word.
bool has_instruction_set(InstructionSet set);

/// The widest one, found once.
InstructionSet best_instruction_set();

/// The vector instructions that matter here, as far as they are allowed, best first: "avx512f avx2
/// fma".
std::string instruction_sets();

/// The processor's name, how many of them the system has, and its memory, for people:
/// "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz, 40 processors, 188 GiB".
std::string machine_description();

}  // namespace headway
