// Enumerations by the names that studies give them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headway/core/error.hpp"
#include "headway/core/nearest_word.hpp"

namespace headway::training::detail {

template <typename Value, std::size_t n>
using NamedValues = std::array<std::pair<const char*, Value>, n>;

/// Error{kBadStudy} naming the field, the value, what is allowed and the nearest name.
template <typename Value, std::size_t n>
Value parse_named(const NamedValues<Value, n>& table, std::string_view field,
                  std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [text, value] : table) {
    if (name == text) return value;
    known.emplace_back(text);
  }
  const std::string guess = nearest_word(name, known);
  throw Error(ErrorKind::kBadStudy,
              fmt::format("{} = \"{}\": must be one of {}{}", field, name, fmt::join(known, ", "),
                          guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess)));
}

template <typename Value, std::size_t n>
std::string_view name_of(const NamedValues<Value, n>& table, Value wanted) {
  for (const auto& [text, value] : table) {
    if (value == wanted) return text;
  }
  throw Error(ErrorKind::kInternal, "an enumeration's value has no name");
}

/// Error{kBadStudy} "train.<field> = <value>: must be a whole number from <low> to <high>".
inline void require_whole(std::string_view field, long long value, long long low, long long high) {
  if (value >= low && value <= high) return;
  throw Error(
      ErrorKind::kBadStudy,
      fmt::format("train.{} = {}: must be a whole number from {} to {}", field, value, low, high));
}

/// Error{kBadStudy} "train.<field> = <value>: must be <allowed>" unless `good`.
inline void require_real(bool good, std::string_view field, double value,
                         std::string_view allowed) {
  if (good) return;
  throw Error(ErrorKind::kBadStudy,
              fmt::format("train.{} = {}: must be {}", field, value, allowed));
}

}  // namespace headway::training::detail
