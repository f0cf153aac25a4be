#pragma once

// What C++20 has and the standard library of emcc 3.1.6 lacks. live_page.py includes it before
// everything.
#include <bit>

#if !defined(__cpp_lib_bit_cast)
namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
}  // namespace std
#endif
