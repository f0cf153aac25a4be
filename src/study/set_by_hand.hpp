#pragma once

#include <string>
#include <vector>

#include "headway/core/option_value.hpp"

namespace headway {

/// Sets the key of these parts in a tree of sections to `value`, all of it given at `place`. Tables
/// on the way are made, and the axis of [sweep] that sets the key alone goes; if the value is a
/// table, so do the axes of its keys.
void set_by_hand(OptionValue& root, const std::vector<std::string>& parts, OptionValue value,
                 const Place& place);

}  // namespace headway
