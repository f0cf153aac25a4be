#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/train_results.hpp"
#include "headway/types.hpp"

// What a file keeps of one member of a record.
namespace headway::io::detail {

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

/// A single number, flag, word or text: an attribute, or a cell in a column of records.
template <class T>
inline constexpr bool kIsScalar =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;

/// Such as training::NamedTensor: an array of a group, in single precision.
template <class T>
concept IsNamedArray = requires(T& t) {
  t.name = std::string();
  t.shape = std::vector<Index>();
  t.values = std::vector<float>();
};

/// What a file has as texts and JSON as an object.
template <class T>
inline constexpr bool kIsForJson = std::is_same_v<T, std::vector<Setting>>;

using Texts = std::vector<std::string>;

/// Numbers are kept as double or as integers of 64 bits with their sign, words as texts.
template <class T>
auto stored(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(word_of(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    return static_cast<std::int64_t>(value);
  }
}
template <class T>
using Stored = decltype(stored(std::declval<const T&>()));

/// Row-major numbers with their shape; {} is that of a scalar.
template <class Number>
struct NumberArray {
  std::vector<Index> shape;
  std::vector<Number> values;
};

/// A member as an array; nothing where its layout leaves it out.
NumberArray<double> array_of(const VectorXd& value, const FieldForm& form);
NumberArray<double> array_of(const MatrixXd& value, const FieldForm& form);

NumberArray<double> array_of(const std::vector<MatrixXd>& values,
                             const FieldForm& form);  // kStacked

template <class Numbers>
requires(kIsNumbers<Numbers>) auto array_of(const Numbers& values, const FieldForm& /*form*/) {
  using Number = typename Numbers::value_type;
  constexpr bool kAsItIs = std::is_same_v<Number, float> || std::is_same_v<Number, std::uint8_t>;
  using Kept = std::conditional_t<kAsItIs, Number, Stored<Number>>;
  return NumberArray<Kept>{{static_cast<Index>(values.size())}, {values.begin(), values.end()}};
}

/// Rows of one array, short ones padded with NaN or -1.
template <class Number>
auto array_of(const std::vector<std::vector<Number>>& rows, const FieldForm& /*form*/) {
  using Kept = Stored<Number>;
  std::size_t longest = 0;
  for (const std::vector<Number>& row : rows) longest = std::max(longest, row.size());
  NumberArray<Kept> out{{static_cast<Index>(rows.size()), static_cast<Index>(longest)}, {}};
  out.values.assign(rows.size() * longest, std::is_integral_v<Kept>
                                               ? static_cast<Kept>(-1)
                                               : std::numeric_limits<Kept>::quiet_NaN());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy(rows[i].begin(), rows[i].end(), out.values.data() + i * longest);
  }
  return out;
}

}  // namespace headway::io::detail
