#include "io/text_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "headway/core/error.hpp"
#include "headway/core/utf8.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kLargestText = std::size_t{4} << 30U;
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

}  // namespace

std::size_t first_fault_of_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t count = utf8_sequence(text, at);
    if (count == 0) return at;
    at += count;
  }
  return text.size();
}

std::string with_replacements(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t count = utf8_sequence(text, at);
    out += count == 0 ? kReplacement : text.substr(at, count);
    at += count == 0 ? 1 : count;
  }
  return out;
}

std::string read_utf8_file(const std::string& file_path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file_path, ignored)) {
    throw Error(ErrorKind::kMissingFile,
                fmt::format("{}: is a directory; task.file must be a text", file_path));
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(file_path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    throw Error(ErrorKind::kMissingFile,
                fmt::format("{}: cannot be opened: {}", file_path, std::strerror(errno)));
  }
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer.data(), count);
    if (text.size() > kLargestText) {
      throw Error(ErrorKind::kBadData, fmt::format("{}: is larger than 4 GiB", file_path));
    }
  }
  if (std::ferror(file.get()) != 0) {
    throw Error(ErrorKind::kMissingFile, fmt::format("{}: cannot be read", file_path));
  }
  const std::size_t fault = first_fault_of_utf8(text);
  if (fault < text.size()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: is not UTF-8: byte {} is 0x{:02x}", file_path, fault + 1,
                            static_cast<unsigned>(static_cast<unsigned char>(text[fault]))));
  }
  return text;
}

}  // namespace headway::io
