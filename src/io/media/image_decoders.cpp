#include "io/media/image_decoders.hpp"

#include <fmt/format.h>
#include <png.h>

#include "headway/core/error.hpp"
#include "io/dataset_file/names.hpp"
#include "io/whole_file.hpp"

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

void refuse(const std::string& name, const std::string& fault) {
  throw Error(ErrorKind::kBadData, fmt::format("{}: {}", name, fault));
}

GreyImage decode_png(std::span<const std::uint8_t> bytes, const std::string& name) {
  PngReader reader;
  if (png_image_begin_read_from_memory(&reader.image, bytes.data(), bytes.size()) == 0) {
    refuse(name, fmt::format("is no sound PNG: {}", printable(reader.image.message)));
  }
  GreyImage result;
  result.height = reader.image.height;
  result.width = reader.image.width;
  if (result.height > kLargestImageSide || result.width > kLargestImageSide) {
    refuse(name, fmt::format("is {} x {} pixels: must be at most {} each way", result.width,
                             result.height, kLargestImageSide));
  }
  reader.image.format = PNG_FORMAT_GRAY;
  result.pixels.resize(static_cast<std::size_t>(result.height * result.width));
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&reader.image, &white, result.pixels.data(), 0, nullptr) == 0) {
    refuse(name, fmt::format("is a damaged PNG: {}", printable(reader.image.message)));
  }
  return result;
}

ZipArchive::ZipArchive(const std::string& path) : path_(path), archive_(nullptr, &zip_discard) {
  require_readable_file(path);
  int code = 0;
  archive_.reset(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive_) return;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string message = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (code == ZIP_ER_READ) {
    throw Error(ErrorKind::kMissingFile, fmt::format("{}: cannot be read: {}", path, message));
  }
  refuse(path, fmt::format("is no sound zip archive (cut short?): {}", message));
}

Index ZipArchive::entries() const { return zip_get_num_entries(archive_.get(), 0); }

std::string ZipArchive::name(Index entry) const {
  const char* name =
      zip_get_name(archive_.get(), static_cast<zip_uint64_t>(entry), ZIP_FL_ENC_GUESS);
  if (name == nullptr) refuse(path_, fmt::format("entry {} has no readable name", entry));
  return name;
}

std::vector<std::uint8_t> ZipArchive::read(Index entry, std::uint64_t limit) const {
  const auto index = static_cast<zip_uint64_t>(entry);
  const std::string label = fmt::format("{}: {}", path_, printable(name(entry)));
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_stat_index(archive_.get(), index, 0, &status) != 0 ||
      (status.valid & ZIP_STAT_SIZE) == 0) {
    refuse(label, "its size is unknown");
  }
  if (status.size > limit) {
    refuse(label,
           fmt::format("has {} bytes when unpacked: must be at most {}", status.size, limit));
  }
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen_index(archive_.get(), index, 0), &zip_fclose);
  if (!file) {
    refuse(label, fmt::format("cannot be unpacked: {}", zip_strerror(archive_.get())));
  }
  std::vector<std::uint8_t> bytes(status.size);
  std::size_t done = 0;
  std::uint8_t beyond = 0;  // reading past the end is what makes libzip compare the checksum
  for (;;) {
    const bool full = done == bytes.size();
    const zip_int64_t count = full
                                  ? zip_fread(file.get(), &beyond, 1)
                                  : zip_fread(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0) {
      refuse(label,
             fmt::format("is damaged: {}", zip_error_strerror(zip_file_get_error(file.get()))));
    }
    if (full != (count == 0)) {
      refuse(label, fmt::format("does not unpack to the {} bytes that it claims", bytes.size()));
    }
    if (full) return bytes;
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace headway::io
