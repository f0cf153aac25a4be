#pragma once

#include <string>
#include <string_view>

#include "headway/core/option_value.hpp"

namespace headway::detail {

/// Parses TOML text into a table. `source` names it in messages. Error{kBadStudy} with the line on
/// a syntax error.
OptionValue parse_toml(std::string_view text, const std::string& source);

}  // namespace headway::detail
