#include "headway/core/cpu.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "headway/core/memory.hpp"
#include "headway/error.hpp"

namespace headway {
namespace {

/// Linux tells the name of an x86 processor. Of others only the architecture is known.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t value = line.find(": ");
    if (line.starts_with("model name") && value != std::string::npos) return line.substr(value + 2);
  }
  utsname system{};
  return uname(&system) == 0 ? static_cast<const char*>(system.machine) : "unknown processor";
}

/// What the user allows: HEADWAY_INSTRUCTIONS, read once.
InstructionSet widest_allowed() {
  static const InstructionSet allowed = [] {
    const char* set = std::getenv("HEADWAY_INSTRUCTIONS");  // NOLINT(concurrency-mt-unsafe): once
    const std::string_view name = set == nullptr ? "" : set;
    if (name == "baseline") return InstructionSet::kBaseline;
    if (name == "avx2") return InstructionSet::kAvx2;
    if (name.empty() || name == "avx512") return InstructionSet::kAvx512;
    throw Error(
        ErrorKind::kUsage,
        fmt::format("HEADWAY_INSTRUCTIONS = \"{}\": must be baseline, avx2 or avx512", name));
  }();
  return allowed;
}

}  // namespace

bool has_instruction_set(InstructionSet set) {
  if (set > widest_allowed()) return false;
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

std::string instruction_sets() {
#if defined(__x86_64__)
  std::string out;
  const auto add = [&out](bool has, const char* name) {
    if (has) out.append(out.empty() ? "" : " ").append(name);
  };
  const bool avx2 = widest_allowed() >= InstructionSet::kAvx2;
  const bool avx512 = widest_allowed() >= InstructionSet::kAvx512;
  add(avx512 && __builtin_cpu_supports("avx512f") != 0, "avx512f");
  add(avx2 && __builtin_cpu_supports("avx2") != 0, "avx2");
  add(avx2 && __builtin_cpu_supports("fma") != 0, "fma");
  add(__builtin_cpu_supports("sse4.2") != 0, "sse4.2");
  return out.empty() ? "sse2" : out;
#elif defined(__aarch64__)
  return "neon";
#else
  return "unknown";
#endif
}

std::string machine_description() {
  return fmt::format("{}, {} processors, {:.0f} GiB", processor_name(),
                     sysconf(_SC_NPROCESSORS_ONLN), physical_memory() / kGibibyte);
}

}  // namespace headway
