// Whether the tests run under the address sanitizer, where a wrong read is seen at once.
#pragma once

namespace headway::testing {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace headway::testing
