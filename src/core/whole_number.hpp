#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "headway/core/option_value.hpp"

namespace headway {

/// An integer, also one that is written as a real number: 1e9, 4.0. None for anything else.
inline std::optional<std::int64_t> whole_number(const OptionValue& value) {
  if (const auto* integer = value.get<std::int64_t>()) return *integer;
  constexpr double kEnd = 0x1p63;
  const double* real = value.get<double>();
  const bool whole = real != nullptr && *real == std::floor(*real) && std::abs(*real) < kEnd;
  return whole ? std::optional(static_cast<std::int64_t>(*real)) : std::nullopt;
}

}  // namespace headway
