#pragma once

#include <string>
#include <vector>

#include "headway/studies/training.hpp"

namespace headway::studies {

/// train.attention with its nonlinearity where one is set, and " + mixture".
std::string run_variant(const Study& study);

/// What a sweep sets, but for seeds, in short: "hyla", "attention = hyla, layers = 4".
std::string run_label(const std::vector<Setting>& settings, const Study& study);

}  // namespace headway::studies
