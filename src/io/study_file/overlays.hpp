#pragma once

#include <string>

#include "headway/core/option_value.hpp"

namespace headway::io::detail {

/// Applies one `section.key=value` to a parsed study: a TOML value, else a string. Tables on the
/// way are made, and the axis of [sweep] that sets the key alone goes; if the value is a table, so
/// do the axes of its keys. Gives the key, as overlay_key(). Error{kUsage} when it has no '=' or no
/// key.
std::string apply_overlay(OptionValue& root, const std::string& overlay);

}  // namespace headway::io::detail
