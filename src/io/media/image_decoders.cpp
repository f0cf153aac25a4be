#include "io/media/image_decoders.hpp"

#include <png.h>

#include "io/fail.hpp"
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
    fail(ErrorKind::kMissingFile, "{}: cannot be read: {}", path, message);
  }
  bad_data("{}: is no sound zip archive (cut short?): {}", path, message);
}

Index ZipArchive::entries() const { return zip_get_num_entries(archive_.get(), 0); }

std::string ZipArchive::name(Index entry) const {
  const char* name =
      zip_get_name(archive_.get(), static_cast<zip_uint64_t>(entry), ZIP_FL_ENC_GUESS);
  if (name == nullptr) bad_data("{}: entry {} has no readable name", path_, entry);
  return name;
}

std::vector<std::uint8_t> ZipArchive::read(Index entry, std::uint64_t limit) const {
  const auto index = static_cast<zip_uint64_t>(entry);
  const std::string label = fmt::format("{}: {}", path_, shown(name(entry)));
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_stat_index(archive_.get(), index, 0, &status) != 0 ||
      (status.valid & ZIP_STAT_SIZE) == 0) {
    bad_data("{}: its size is unknown", label);
  }
  if (status.size > limit) {
    bad_data("{}: has {} bytes when unpacked: must be at most {}", label, status.size, limit);
  }
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen_index(archive_.get(), index, 0), &zip_fclose);
  if (!file) bad_data("{}: cannot be unpacked: {}", label, zip_strerror(archive_.get()));
  // A byte more than is there: reading past the end makes libzip compare the checksum.
  std::vector<std::uint8_t> bytes(status.size + 1);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const zip_int64_t count = zip_fread(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0) {
      bad_data("{}: is damaged: {}", label, zip_error_strerror(zip_file_get_error(file.get())));
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  bytes.pop_back();
  if (done == bytes.size()) return bytes;
  bad_data("{}: does not unpack to the {} bytes that it claims", label, bytes.size());
}

}  // namespace headway::io
