#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "headway/core/text.hpp"
#include "headway/error.hpp"

namespace headway {

/// Throws an Error whose message is written as by fmt::format.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(kind, fmt::format(text, std::forward<Args>(args)...));
}

/// The same for a fault inside a file.
template <class... Args>
[[noreturn]] void bad_data(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(ErrorKind::kBadData, fmt::format(text, std::forward<Args>(args)...));
}

/// A foreign name in a message: printable, on one line, not too long.
inline std::string shown(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  return printable(clip(name, kLongest));
}

}  // namespace headway
