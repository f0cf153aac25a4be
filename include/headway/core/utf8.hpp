#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headway {

/// Bytes of the UTF-8 sequence that starts at byte `position` of `text`, 1 to 4, or 0 when none
/// does (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_sequence(std::string_view text, std::size_t position);

/// Whether all of `text` is UTF-8.
bool is_utf8(std::string_view text);

/// How many characters `text` has: places in a column. A byte that is no UTF-8 counts as one.
std::size_t characters_of(std::string_view text);

/// `text` with U+FFFD in place of every byte that is no UTF-8.
std::string with_replacements(std::string_view text);

}  // namespace headway
