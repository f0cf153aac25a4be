#include "headway/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "headway/core/utf8.hpp"

namespace headway {

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string short_number_text(double value) {
  return value > 1000.0 ? fmt::format("{:.4g}", value) : fmt::format("{:.3f}", value);
}

std::string clip(const std::string& text, std::size_t length) {
  if (text.size() <= length) return text;
  std::size_t end = length;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

namespace {

/// The character of a UTF-8 sequence of `size` bytes.
char32_t character_of(std::string_view text, std::size_t position, std::size_t size) {
  constexpr unsigned char kFirstBits[] = {0x7F, 0x1F, 0x0F, 0x07};
  char32_t c = static_cast<unsigned char>(text[position]) & kFirstBits[size - 1];
  for (std::size_t k = 1; k < size; ++k) {
    c = (c << 6U) | (static_cast<unsigned char>(text[position + k]) & 0x3FU);
  }
  return c;
}

/// What breaks a row of a table, or the order of what stands in it: control characters, of which
/// terminals obey U+0080 to U+009F too; separators of lines and paragraphs; embeddings, overrides
/// and isolates of direction.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_sequence(text, i);
    if (size == 0 || is_control(character_of(text, i, size))) {
      out += '?';
    } else {
      out += text.substr(i, size);
    }
    i += std::max<std::size_t>(size, 1);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_sequence(text, i);
    const char c = text[i];
    // A lone \r would overwrite its line.
    const bool layout = c == '\t' || c == '\n' || text.substr(i, 2) == "\r\n";
    const std::size_t count = std::max<std::size_t>(size, 1);
    if (size > 0 && (layout || !is_control(character_of(text, i, size)))) {
      out += text.substr(i, count);
    } else {
      for (const char byte : text.substr(i, count)) {
        out += fmt::format("\\x{:02X}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
      }
    }
    i += count;
  }
  return out;
}

std::string count_text(std::string_view number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == "1" ? "" : "s");
}

std::string count_text(double number, std::string_view noun) {
  return count_text(fmt::format("{}", number), noun);
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}
std::string join(std::span<const std::string_view> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

template <class Number>
std::string join(const std::vector<Number>& numbers, std::string_view separator) {
  return fmt::format("{}", fmt::join(numbers, separator));
}
// What Index and the integers of fixed size are on any system.
template std::string join(const std::vector<int>&, std::string_view);
template std::string join(const std::vector<long>&, std::string_view);
template std::string join(const std::vector<long long>&, std::string_view);
template std::string join(const std::vector<unsigned long>&, std::string_view);
template std::string join(const std::vector<unsigned long long>&, std::string_view);
template std::string join(const std::vector<double>&, std::string_view);

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string text_fault(std::string_view text, bool lines) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_sequence(text, i);
    if (size == 0) return fmt::format("is not UTF-8 text (byte {})", i);
    const char32_t c = character_of(text, i, size);
    const bool line = c == U'\n' || c == U'\t' || c == U'\r';
    if (is_control(c) && !(lines && line)) {
      const auto number = static_cast<std::uint32_t>(c);
      return fmt::format("contains the control character {} (byte {}); allowed: printable text",
                         c < 0x80 ? std::to_string(number) : fmt::format("U+{:04X}", number), i);
    }
    i += size;
  }
  return {};
}

std::string shell_command(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+@%";
  std::string out;
  for (const std::string& argument : arguments) {
    if (!out.empty()) out += ' ';
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      out += argument;
      continue;
    }
    out += '\'';
    for (const char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

}  // namespace headway
