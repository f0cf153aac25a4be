#include "tasks/option_checks.hpp"

#include <fmt/format.h>

#include "headway/core/error.hpp"

namespace headway::tasks::detail {

void require_count(std::string_view field, Index value, Index low, Index high) {
  if (value < low || value > high) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("task.{} = {}: must be a whole number from {} to {}", field, value, low, high));
  }
}

void require_real(std::string_view field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {  // catches NaN too
    throw Error(ErrorKind::kBadStudy, fmt::format("task.{} = {}: must be a number from {} to {}",
                                                  field, value, low, high));
  }
}

}  // namespace headway::tasks::detail
