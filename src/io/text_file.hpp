#pragma once

#include <string>
#include <string_view>

namespace headway::io {

/// A whole text. Errors: kMissingFile when it is missing or unreadable; kBadData when it is not
/// UTF-8, naming the place of the first fault, or larger than 4 GiB.
std::string read_utf8_file(const std::string& file_path);

/// Where the first byte stands that is no UTF-8 (RFC 3629); text.size() when all is well.
std::size_t first_fault_of_utf8(std::string_view text);

/// `text` with U+FFFD in place of every byte that is no UTF-8.
std::string with_replacements(std::string_view text);

}  // namespace headway::io
