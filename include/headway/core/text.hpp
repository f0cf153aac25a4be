#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway {

/// `text` between quotes, with escapes: as TOML and JSON spell it.
std::string quoted_text(std::string_view text);

/// The fewest digits that read back to the same double, always with a point or an exponent.
std::string number_text(double value);

/// Three decimals; of a number above 1000 four significant digits, as "6.744e+15".
std::string short_number_text(double value);

/// At most `length` bytes of `text`, never through a UTF-8 character, with "..." where cut.
std::string clip(const std::string& text, std::size_t length);

/// `text` with control characters, and bytes that are no UTF-8, replaced by "?": for messages,
/// which stay on one line.
std::string printable(std::string_view text);

/// `text` of any bytes for a terminal: its lines and tabs, and "\x1B" for control characters and
/// bytes that are no UTF-8.
std::string printable_lines(std::string_view text);

/// "1 point", "2 points".
std::string count_text(std::string_view number, std::string_view noun);
std::string count_text(double number, std::string_view noun);
template <std::integral Count>
std::string count_text(Count number, std::string_view noun) {
  return count_text(std::to_string(number), noun);
}

/// "a, b, c".
std::string join(const std::vector<std::string>& words, std::string_view separator = ", ");
std::string join(std::span<const std::string_view> words, std::string_view separator = ", ");
/// "1, 2.5, 3", with the fewest digits that read back to the same numbers. Of the types that
/// text.cpp names: all files share their code.
template <class Number>
std::string join(const std::vector<Number>& numbers, std::string_view separator = ", ");
/// The words that join() made the text from. "" gives no words, and an empty last word is dropped.
std::vector<std::string> split(std::string_view text, char separator);

/// Why a text cannot be shown in tables and figures ("" when it can): not UTF-8, or control
/// characters (line breaks and tabs allowed where `lines`).
std::string text_fault(std::string_view text, bool lines);

/// A command line that a POSIX shell reads back as the same arguments.
std::string shell_command(const std::vector<std::string>& arguments);

}  // namespace headway
