#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headway::io::detail {

/// A TOML basic string with quotes and escapes.
std::string toml_string(std::string_view text);

/// A TOML float, with the fewest digits that read back to the same double.
std::string toml_number(double value);

/// At most `length` bytes of `text`, never through a UTF-8 character, with "..." where cut.
std::string clip(const std::string& text, std::size_t length);

/// `text` with control characters replaced, so that a message stays on one line.
std::string printable(std::string_view text);

/// "a, b, c"
std::string join(const std::vector<std::string>& words, std::string_view separator = ", ");

}  // namespace headway::io::detail
