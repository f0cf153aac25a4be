#include "io/media/image_decoders.hpp"

#include <png.h>

#include "core/fail.hpp"

namespace headway::io {
namespace {

// libpng's simplified reader, which frees what it holds.
struct PngReader {
  png_image image{};
  PngReader() { image.version = PNG_IMAGE_VERSION; }
  ~PngReader() { png_image_free(&image); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
};

}  // namespace

GreyImage decode_png(std::span<const std::uint8_t> bytes, const std::string& name) {
  PngReader reader;
  if (png_image_begin_read_from_memory(&reader.image, bytes.data(), bytes.size()) == 0) {
    bad_data("{}: is no sound PNG: {}", name, printable(reader.image.message));
  }
  GreyImage result;
  result.height = reader.image.height;
  result.width = reader.image.width;
  if (result.height > kLargestImageSide || result.width > kLargestImageSide) {
    bad_data("{}: is {} x {} pixels: must be at most {} each way", name, result.width,
             result.height, kLargestImageSide);
  }
  reader.image.format = PNG_FORMAT_GRAY;
  result.pixels.resize(static_cast<std::size_t>(result.height * result.width));
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&reader.image, &white, result.pixels.data(), 0, nullptr) == 0) {
    bad_data("{}: is a damaged PNG: {}", name, printable(reader.image.message));
  }
  return result;
}

}  // namespace headway::io
