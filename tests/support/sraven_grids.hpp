#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "headway/tasks/sraven_rules.hpp"

namespace headway::testing {

// Whether all three rows obey the rule, and for distribute-three share their symbols.
inline bool grid_follows(tasks::SravenRule rule, int values, const tasks::SravenGrid& grid) {
  const std::span<const std::uint8_t> cells(grid);
  const auto first = cells.first(tasks::kSravenSide);
  for (std::size_t row = 0; row < tasks::kSravenSide; ++row) {
    const auto symbols = cells.subspan(row * tasks::kSravenSide, tasks::kSravenSide);
    if (!tasks::row_follows(rule, values, symbols[0], symbols[1], symbols[2])) return false;
    if (rule == tasks::SravenRule::kDistributeThree &&
        !std::is_permutation(symbols.begin(), symbols.end(), first.begin(), first.end())) {
      return false;
    }
  }
  return true;
}

}  // namespace headway::testing
