#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headway/results/network_results.hpp"

namespace headway::cli {

/// "0.80 +- 0.03": the mean over seeds and its standard error, where there are several.
std::string spread_text(const Spread& spread);

/// "1,2,3"
std::string seeds_text(const std::vector<std::uint64_t>& seeds);

}  // namespace headway::cli
