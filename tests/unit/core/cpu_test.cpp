#include "headway/core/cpu.hpp"

#include <string>

#include "catch.hpp"

using namespace headway;

TEST_CASE("Each instruction set has those before it, and the best one is the last there is") {
  CHECK(has_instruction_set(InstructionSet::kBaseline));
  if (has_instruction_set(InstructionSet::kAvx512)) {
    CHECK(has_instruction_set(InstructionSet::kAvx2));
  }
  const InstructionSet best = best_instruction_set();
  CHECK(has_instruction_set(best));
  for (const auto set : {InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    CHECK(has_instruction_set(set) == (set <= best));
  }
}

TEST_CASE("The instruction sets that kernels ask for are among those that results tell") {
  const std::string said = " " + instruction_sets() + " ";
  CAPTURE(said);
  const auto tells = [&said](const char* name) {
    return said.find(std::string(" ") + name + " ") != std::string::npos;
  };
  if (has_instruction_set(InstructionSet::kAvx512)) CHECK(tells("avx512f"));
  if (has_instruction_set(InstructionSet::kAvx2)) CHECK((tells("avx2") && tells("fma")));
}

TEST_CASE("A machine has a name, processors and memory") {
  const std::string said = machine_description();
  CAPTURE(said);
  CHECK_THAT(said, Catch::Matchers::Matches(R"([^,\n]+.*, [1-9]\d* processors, [1-9]\d* GiB)"));
}
