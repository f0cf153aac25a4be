// Range checks that every task's options share: the message names field, value and what is allowed.
#pragma once

#include <string_view>

#include "headway/core/types.hpp"

namespace headway::tasks::detail {

/// Error{kBadStudy} "task.<field> = <value>: must be a whole number from <low> to <high>".
void require_count(std::string_view field, Index value, Index low, Index high);

/// Error{kBadStudy} "task.<field> = <value>: must be a number from <low> to <high>"; NaN is one.
void require_real(std::string_view field, double value, double low, double high);

}  // namespace headway::tasks::detail
