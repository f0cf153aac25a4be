#pragma once

#include <string_view>
#include <vector>

#include "headway/core/cpu.hpp"

namespace headway::numerics {

/// Names of OpenBLAS's kernels that are better than `own`, its choice, on a processor with this
/// instruction set; the best first. Empty if its choice fits.
std::vector<std::string_view> better_kernels(std::string_view own, InstructionSet set);

}  // namespace headway::numerics
