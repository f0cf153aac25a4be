#include <zlib.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/fail.hpp"
#include "core/whole_file.hpp"
#include "io/media/image_decoders.hpp"
#include "io/media/image_files.hpp"

namespace headway::io {
namespace {

constexpr std::uint32_t kImageMagic = 0x00000803;  // unsigned bytes, three dimensions
constexpr std::uint32_t kLabelMagic = 0x00000801;  // unsigned bytes, one dimension
constexpr std::uint32_t kMostImages = 1'000'000;
constexpr std::size_t kLabels = 256;

// An IDX file, plain or gzip: zlib reads both.
class IdxFile {
 public:
  explicit IdxFile(const std::string& path) : path_(path), file_(nullptr, &gzclose_r) {
    require_readable_file(path);
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) fail(ErrorKind::kMissingFile, "{}: cannot be opened", path);
  }

  // Fills `out`, or throws that the file is damaged or too short for `what`.
  void read(std::span<std::uint8_t> out, const std::string& what) {
    const int count = gzread(file_.get(), out.data(), static_cast<unsigned>(out.size()));
    require_sound(count);
    if (static_cast<std::size_t>(count) < out.size()) {
      bad_data("{}: ends within {}, {} bytes early", path_, what,
               out.size() - static_cast<std::size_t>(count));
    }
  }

  std::uint32_t read_number(const std::string& what) {
    std::array<std::uint8_t, 4> bytes{};
    read(bytes, what);
    std::uint32_t value = 0;
    for (const std::uint8_t byte : bytes) value = (value << 8U) | byte;  // big-endian
    return value;
  }

  void require_magic(std::uint32_t wanted, const char* kind) {
    const std::uint32_t magic = read_number("the magic number");
    if (magic != wanted) {
      bad_data("{}: magic number {:#010x}: must be {:#010x} ({})", path_, magic, wanted, kind);
    }
  }

  std::uint32_t read_size(const std::string& what, std::uint32_t most) {
    const std::uint32_t size = read_number(what);
    if (size >= 1 && size <= most) return size;
    bad_data("{}: {} = {}: must be from 1 to {}", path_, what, size, most);
  }

  // Nothing may follow; with gzip this is where the checksum is compared.
  void require_end() {
    std::uint8_t beyond = 0;
    const int count = gzread(file_.get(), &beyond, 1);
    require_sound(count);
    if (count != 0) bad_data("{}: is longer than its header says", path_);
  }

 private:
  void require_sound(int count) {
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (count >= 0 && code == Z_OK) return;
    if (code == Z_ERRNO) fail(ErrorKind::kMissingFile, "{}: cannot be read", path_);
    bad_data("{}: its gzip data are damaged or cut short: {}", path_, message);
  }

  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

std::vector<std::uint8_t> read_labels(const std::string& path, std::uint32_t images,
                                      const std::string& images_path) {
  IdxFile file(path);
  file.require_magic(kLabelMagic, "labels: unsigned bytes, 1 dimension");
  const std::uint32_t count = file.read_size("number of labels", kMostImages);
  if (count != images) {
    bad_data("{}: number of labels = {}: must be the {} images of {}", path, count, images,
             images_path);
  }
  std::vector<std::uint8_t> labels(count);
  file.read(labels, "the labels");
  file.require_end();
  return labels;
}

}  // namespace

tasks::ImageSet read_idx(const std::string& images_path, const std::string& labels_path,
                         const IdxOptions& options) {
  IdxFile file(images_path);
  file.require_magic(kImageMagic, "images: unsigned bytes, 3 dimensions");
  const std::uint32_t count = file.read_size("number of images", kMostImages);
  const std::uint32_t rows = file.read_size("rows", kLargestImageSide);
  const std::uint32_t columns = file.read_size("columns", kLargestImageSide);
  if (rows != columns) {
    bad_data("{}: images of {} x {}: must be square", images_path, rows, columns);
  }
  const std::vector<std::uint8_t> labels = read_labels(labels_path, count, images_path);
  std::array<std::vector<std::uint8_t>, kLabels> by_label;
  std::vector<std::uint8_t> image(std::size_t{rows} * columns);
  for (std::uint32_t i = 0; i < count; ++i) {
    file.read(image, fmt::format("image {} of {}", i + 1, count));
    if (options.invert) {
      for (std::uint8_t& x : image) x = static_cast<std::uint8_t>(255 - x);
    }
    const std::vector<std::uint8_t> scaled = tasks::resize_grey(image, rows, columns, options.side);
    by_label[labels[i]].insert(by_label[labels[i]].end(), scaled.begin(), scaled.end());
  }
  file.require_end();
  tasks::ImageSet set;
  set.name = images_path;
  set.side = options.side;
  for (std::size_t label = 0; label < by_label.size(); ++label) {
    if (!by_label[label].empty()) tasks::add_class(set, "", std::to_string(label), by_label[label]);
  }
  return set;
}

}  // namespace headway::io
