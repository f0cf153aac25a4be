#include "io/media/image_decoders.hpp"

#include <png.h>

#include <memory>

#include "core/fail.hpp"

namespace headway::io {
GreyImage decode_png(std::span<const std::uint8_t> bytes, const std::string& name) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_imagep)> held(&image, &png_image_free);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    bad_data("{}: is not a valid PNG image: {}", name, printable(image.message));
  }
  GreyImage result;
  result.height = image.height;
  result.width = image.width;
  if (result.height > kLargestImageSide || result.width > kLargestImageSide) {
    bad_data("{}: is {} x {} pixels: must be at most {} each way", name, result.width,
             result.height, kLargestImageSide);
  }
  image.format = PNG_FORMAT_GRAY;
  result.pixels.resize(static_cast<std::size_t>(result.height * result.width));
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&image, &white, result.pixels.data(), 0, nullptr) == 0) {
    bad_data("{}: is a damaged PNG: {}", name, printable(image.message));
  }
  return result;
}

}  // namespace headway::io
