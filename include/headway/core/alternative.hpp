#pragma once

#include <variant>

namespace headway {

/// The T that a variant holds. If the variant holds something else, a default T; the variant is
/// left as it is.
template <class T, class... Ts>
const T& alternative(const std::variant<Ts...>& held) {
  static const T by_default = {};
  const T* found = std::get_if<T>(&held);
  return found != nullptr ? *found : by_default;
}

/// The same for a variant that may be changed. If it holds something else, it becomes a default T.
template <class T, class... Ts>
T& alternative(std::variant<Ts...>& held) {
  if (!std::holds_alternative<T>(held)) held.template emplace<T>();
  return *std::get_if<T>(&held);
}

}  // namespace headway
