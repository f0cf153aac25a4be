// Decoders of image files and archives: all input is untrusted, every size is bounded before memory
// is taken, and every fault is an Error that names file and value.
#pragma once

#include <zip.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headway/core/types.hpp"

namespace headway::io {

inline constexpr std::uint64_t kLargestImageFile = std::uint64_t{1} << 20U;  ///< bytes of one PNG
inline constexpr std::uint64_t kMostUnpackedBytes = std::uint64_t{1} << 30U;
inline constexpr Index kLargestImageSide = 1024;
inline constexpr Index kMostDrawings = 500'000;

/// Grey pixels [height, width].
struct GreyImage {
  Index height = 0;
  Index width = 0;
  std::vector<std::uint8_t> pixels;
};

/// Decodes a PNG of any kind to 8-bit grey, transparency over white. Error{kBadData} that starts
/// with `name` when it is none, damaged, or larger than kLargestImageSide.
GreyImage decode_png(std::span<const std::uint8_t> bytes, const std::string& name);

/// A zip archive open for reading.
class ZipArchive {
 public:
  /// Errors: kMissingFile, and kBadData when the directory of the archive is damaged or missing.
  explicit ZipArchive(const std::string& path);

  [[nodiscard]] Index entries() const;
  [[nodiscard]] std::string name(Index entry) const;
  /// The unpacked bytes, their checksum checked. Error{kBadData} when the entry is damaged,
  /// encrypted, or larger than `limit`.
  [[nodiscard]] std::vector<std::uint8_t> read(Index entry, std::uint64_t limit) const;

 private:
  std::string path_;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive_;
};

}  // namespace headway::io
