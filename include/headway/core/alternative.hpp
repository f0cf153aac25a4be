#pragma once

#include <variant>

namespace headway {

/// What a variant holds as a T. A variant that holds something else is left as it is: then this is
/// a T by default.
template <class T, class... Ts>
const T& alternative(const std::variant<Ts...>& held) {
  static const T by_default = {};
  const T* found = std::get_if<T>(&held);
  return found != nullptr ? *found : by_default;
}

/// The same of a variant that may be changed: one that holds something else holds a T by default
/// from now on.
template <class T, class... Ts>
T& alternative(std::variant<Ts...>& held) {
  if (!std::holds_alternative<T>(held)) held.template emplace<T>();
  return *std::get_if<T>(&held);
}

}  // namespace headway
