#include "headway/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_sequence(text, i);
    const bool control = static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f;
    if (size == 0 || control) {
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
    const auto c = static_cast<unsigned char>(text[i]);
    // A lone \r would overwrite its line. Some terminals also obey U+0080 to U+009F.
    const bool line_end = c == '\n' || text.substr(i, 2) == "\r\n";
    const bool control = (c < 0x20 && c != '\t' && !line_end) || c == 0x7F;
    const bool upper_control = c == 0xC2 && size == 2 && (text[i + 1] & 0x60) == 0;
    const std::size_t count = std::max<std::size_t>(size, 1);
    if (size > 0 && !control && !upper_control) {
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
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += separator;
    out += words[i];
  }
  return out;
}

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
    const auto c = static_cast<unsigned char>(text[i]);
    const bool line = c == '\n' || c == '\t' || c == '\r';
    if ((c < 0x20 || c == 0x7F) && !(lines && line)) {
      return fmt::format("contains the control character {} (byte {}); allowed: printable text", c,
                         i);
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
