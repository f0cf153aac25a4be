#include "headway/core/utf8.hpp"

#include <algorithm>
#include <cstdint>

namespace headway {

std::size_t utf8_sequence(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t k) {
    return k < text.size() ? static_cast<std::uint8_t>(text[k]) : std::uint8_t{0};
  };
  if (position >= text.size()) return 0;
  const std::uint8_t first = byte(position);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(position + 1) < low || byte(position + 1) > high) return 0;
  for (std::size_t k = 2; k < size; ++k) {
    if ((byte(position + k) & 0xC0U) != 0x80U) return 0;
  }
  return size;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t count = utf8_sequence(text, at);
    if (count == 0) return false;
    at += count;
  }
  return true;
}

std::size_t characters_of(std::string_view text) {
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++characters) {
    at += std::max<std::size_t>(1, utf8_sequence(text, at));
  }
  return characters;
}

std::string with_replacements(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t count = utf8_sequence(text, at);
    out += count == 0 ? kReplacement : text.substr(at, count);
    at += count == 0 ? 1 : count;
  }
  return out;
}

}  // namespace headway
