#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "headway/core/record.hpp"

// What members of records are kept as, and records of one kind as columns.
namespace headway::io {

/// One array of what a column of records holds.
using Column = std::variant<std::vector<double>, std::vector<std::int64_t>,
                            std::vector<std::uint64_t>, std::vector<std::string>>;

namespace detail {

template <class T>
inline constexpr bool kIsNumbers = false;  ///< a contiguous list of numbers
template <class T>
requires(std::is_arithmetic_v<T> &&
         !std::is_same_v<T, bool>) inline constexpr bool kIsNumbers<std::vector<T>> = true;
template <class T, std::size_t n>
requires(std::is_arithmetic_v<T> &&
         !std::is_same_v<T, bool>) inline constexpr bool kIsNumbers<std::array<T, n>> = true;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// Whether a member can be in a column of records; Error{kInternal} where it cannot.
template <class T>
inline constexpr bool kIsCell =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;
[[noreturn]] void refuse_column(const std::string& name);

/// How a number is kept: double, or an integer of 64 bits with its sign.
template <class T>
using Stored = std::conditional_t<
    std::is_floating_point_v<T>, double,
    std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>>;

}  // namespace detail

/// Gathers the fields of records of one kind, column by column, each with as many entries as there
/// are records.
class ColumnWriter {
 public:
  template <class T>
  void operator()(const std::string& name, const T& value, const char* /*meaning*/,
                  const FieldForm& form = {}) {
    if (form.place == FieldPlace::kJson) return;
    if constexpr (std::is_arithmetic_v<T>) {
      add(name, static_cast<detail::Stored<T>>(value));
    } else if constexpr (std::is_enum_v<T>) {
      add(name, std::string(word_of(value)));
    } else if constexpr (std::is_same_v<T, std::string>) {
      add(name, value);
    } else {
      detail::refuse_column(name);
    }
  }
  [[nodiscard]] const std::vector<std::pair<std::string, Column>>& columns() const {
    return columns_;
  }

 private:
  template <class T>
  void add(const std::string& name, T value) {
    std::size_t i = 0;
    while (i < columns_.size() && columns_[i].first != name) ++i;
    if (i == columns_.size()) columns_.emplace_back(name, std::vector<T>{});
    std::get<std::vector<T>>(columns_[i].second).push_back(std::move(value));
  }
  std::vector<std::pair<std::string, Column>> columns_;
};

}  // namespace headway::io
