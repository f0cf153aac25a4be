// Decoders of image files and archives: all input is untrusted, every size is bounded before memory
// is taken, and every fault is an Error that names file and value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headway/types.hpp"

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

}  // namespace headway::io
