#include "io/hdf5/file_seal.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "core/fail.hpp"
#include "core/whole_file.hpp"

namespace headway::io {
namespace {

constexpr std::string_view kSealName = "\nheadway crc32 of file: ";
constexpr std::size_t kReadBytes = std::size_t{1} << 20;
static_assert(kSealName.size() + 8 == kSealBytes);

std::string seal_text(std::uint32_t crc) { return fmt::format("{}{:08x}", kSealName, crc); }

std::uint32_t add_crc(std::uint32_t crc, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));  // NOLINT
}

[[noreturn]] void unreadable(const std::string& file_path) {
  fail(ErrorKind::kMissingFile, "{}: cannot be read to its end: {}", file_path,
       std::strerror(errno));
}

/// A file in two parts: what HDF5 reads of it, and the seal behind that.
class SealedFile {
 public:
  explicit SealedFile(const std::string& file_path)
      : file_path_(file_path), in_(file_path, std::ios::binary | std::ios::ate) {
    if (!in_) unreadable(file_path_);
    content_bytes_ = static_cast<std::size_t>(in_.tellg());
    if (content_bytes_ < kSealBytes) return;
    std::string end(kSealBytes, '\0');
    in_.seekg(static_cast<std::streamoff>(content_bytes_ - kSealBytes));
    if (!in_.read(end.data(), kSealBytes)) unreadable(file_path_);
    if (!end.starts_with(kSealName)) return;
    seal_ = end;
    content_bytes_ -= kSealBytes;
  }
  [[nodiscard]] std::size_t content_bytes() const { return content_bytes_; }
  /// "" where there is none.
  [[nodiscard]] const std::string& seal() const { return seal_; }
  /// Of the content.
  [[nodiscard]] std::uint32_t crc() {
    in_.seekg(0);
    std::uint32_t crc = 0;
    std::vector<char> buffer(kReadBytes);
    for (std::size_t left = content_bytes_; left > 0;) {
      const std::size_t count = std::min(left, buffer.size());
      if (!in_.read(buffer.data(), static_cast<std::streamsize>(count))) unreadable(file_path_);
      crc = add_crc(crc, {buffer.data(), count});
      left -= count;
    }
    return crc;
  }

 private:
  std::string file_path_;
  std::ifstream in_;
  std::size_t content_bytes_ = 0;
  std::string seal_;
};

}  // namespace

std::string seal_of(std::string_view bytes) { return seal_text(add_crc(0, bytes)); }

void write_sealed_file(const std::string& file_path, std::string_view bytes, bool force) {
  write_whole_file(file_path, bytes, force, seal_of(bytes));
}

std::string broken_seal(const std::string& file_path) {
  SealedFile file(file_path);
  if (file.seal().empty() || file.seal() == seal_text(file.crc())) return {};
  return "damaged: its bytes are not those that were written (the check sum at its end differs)";
}

std::string content_mark(const std::string& file_path) {
  SealedFile file(file_path);
  const std::string seal = file.seal().empty() ? seal_text(file.crc()) : file.seal();
  return fmt::format("{} bytes, {}", file.content_bytes(), seal.substr(1));
}

}  // namespace headway::io
