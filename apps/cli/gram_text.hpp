#pragma once

#include <string>

#include "headway/gram.hpp"
#include "options.hpp"

namespace headway::cli {

/// What `gram`, and `merge` of its parts, print on standard output: lines, or JSON.
std::string gram_text(const Options& options, const GramResult& result);

}  // namespace headway::cli
