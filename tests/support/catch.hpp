// The one place that knows whether Catch2 is version 2 (Debian 12) or 3 (Ubuntu 24.04). Tests use
// version 3's names.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#include <string>
namespace Catch::Matchers {
using Catch::WithinAbs;
using Catch::WithinRel;
// NOLINTNEXTLINE(readability-identifier-naming): the name that version 3 has
inline StdString::ContainsMatcher ContainsSubstring(const std::string& text) {
  return Contains(text, CaseSensitive::Yes);
}
}  // namespace Catch::Matchers
#endif
