#include <zip.h>

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "core/fail.hpp"
#include "headway/io/image_files.hpp"
#include "io/media/image_decoders.hpp"
#include "io/whole_file.hpp"

namespace headway::io {
namespace {

constexpr int kDeepestFolder = 8;  // far below any Omniglot tree

struct DrawingName {
  std::string folder;  // everything above the alphabet
  std::string alphabet, character, file;
};

bool has_png_suffix(std::string name) {
  for (char& c : name) c = c < 'A' || c > 'Z' ? c : static_cast<char>(c - 'A' + 'a');
  return name.size() > 4 && name.ends_with(".png");
}

// The parts of a path inside archive or folder; none when the file is no drawing.
std::optional<DrawingName> parse_name(const std::string& source, const std::string& path) {
  if (path.ends_with("class_labels.txt")) {
    bad_data(
        "{}: {}: these are Omniglot's one-shot runs, whose folders are no characters: give a "
        "background or evaluation set",
        source, shown(path));
  }
  if (!has_png_suffix(path)) return std::nullopt;
  const std::vector<std::string> parts = split(path, '/');
  for (const std::string& part : parts) {
    if (part.starts_with('.') || part == "__MACOSX") return std::nullopt;
  }
  if (parts.size() < 3 || !text_fault(path, /*lines=*/false).empty()) {
    bad_data("{}: {}: must be <alphabet>/<character>/<drawing>.png, in plain text", source,
             shown(path));
  }
  DrawingName name;
  name.file = parts.back();
  name.character = parts[parts.size() - 2];
  name.alphabet = parts[parts.size() - 3];
  for (std::size_t i = 0; i + 3 < parts.size(); ++i) name.folder += parts[i] + "/";
  return name;
}

// Takes drawings one by one, scales them, and puts them in order.
class Collection {
 public:
  Collection(std::string source, Index side) : source_(std::move(source)), side_(side) {}

  void add(const DrawingName& name, std::span<const std::uint8_t> bytes) {
    unpacked_ += bytes.size();
    if (++count_ > kMostDrawings || unpacked_ > kMostUnpackedBytes) {
      bad_data("{}: more than {} drawings or {} bytes of them", source_, kMostDrawings,
               kMostUnpackedBytes);
    }
    if (count_ == 1) folder_ = name.folder;
    if (name.folder != folder_) {
      bad_data(
          "{}: drawings lie below '{}' and below '{}': must all lie below one folder (give "
          "several folders one by one)",
          source_, shown(folder_), shown(name.folder));
    }
    const std::string path =
        fmt::format("{}/{}/{}", shown(name.alphabet), shown(name.character), shown(name.file));
    const GreyImage image = decode_png(bytes, source_ + ": " + path);
    if (image.height != image.width) {
      bad_data("{}: {}: is {} x {} pixels: must be square", source_, path, image.width,
               image.height);
    }
    const bool is_new =
        classes_[{name.alphabet, name.character}]
            .emplace(name.file, tasks::resize_grey(image.pixels, image.height, image.width, side_))
            .second;
    if (!is_new) bad_data("{}: {} is there twice", source_, path);
  }

  [[nodiscard]] tasks::ImageSet finish() const {
    if (classes_.empty()) {
      bad_data("{}: holds no drawing: must have files <alphabet>/<character>/<drawing>.png",
               source_);
    }
    tasks::ImageSet set;
    set.name = source_;
    set.side = side_;
    for (const auto& [name, drawings] : classes_) {
      std::vector<std::uint8_t> pixels;
      for (const auto& [file, drawing] : drawings) {
        pixels.insert(pixels.end(), drawing.begin(), drawing.end());
      }
      tasks::add_class(set, name.first, name.second, pixels);
    }
    return set;
  }

 private:
  using Drawings = std::map<std::string, std::vector<std::uint8_t>>;  // [side, side] by file name

  std::string source_;
  Index side_;
  std::string folder_;
  std::map<std::pair<std::string, std::string>, Drawings> classes_;  // by alphabet and character
  Index count_ = 0;
  std::uint64_t unpacked_ = 0;
};

// A zip archive open for reading.
class ZipArchive {
 public:
  // Errors: kMissingFile, and kBadData when the directory of the archive is damaged or missing.
  explicit ZipArchive(const std::string& path) : path_(path), archive_(nullptr, &zip_discard) {
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

  [[nodiscard]] Index entries() const { return zip_get_num_entries(archive_.get(), 0); }
  [[nodiscard]] std::string name(Index entry) const {
    const char* name =
        zip_get_name(archive_.get(), static_cast<zip_uint64_t>(entry), ZIP_FL_ENC_GUESS);
    if (name == nullptr) bad_data("{}: entry {} has no readable name", path_, entry);
    return name;
  }

  // The unpacked bytes, their checksum checked. Error{kBadData} when the entry is damaged,
  // encrypted, or larger than `limit`.
  [[nodiscard]] std::vector<std::uint8_t> read(Index entry, std::uint64_t limit) const {
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

 private:
  std::string path_;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive_;
};

void collect_archive(const std::string& path, Collection& collection) {
  const ZipArchive archive(path);
  for (Index entry = 0; entry < archive.entries(); ++entry) {
    std::optional<DrawingName> name = parse_name(path, archive.name(entry));
    if (name) collection.add(*name, archive.read(entry, kLargestImageFile));
  }
}

void collect_folder(const std::string& path, Collection& collection) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::recursive_directory_iterator at(path, error);
  while (!error && at != fs::recursive_directory_iterator()) {
    if (at.depth() >= kDeepestFolder) at.disable_recursion_pending();
    std::optional<DrawingName> name =
        parse_name(path, at->path().lexically_relative(path).generic_string());
    if (name && at->is_regular_file(error)) {
      const std::string bytes = read_whole_file(at->path().string(), kLargestImageFile);
      collection.add(*name, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    }
    at.increment(error);
  }
  if (error) fail(ErrorKind::kMissingFile, "{}: cannot be read: {}", path, error.message());
}

}  // namespace

tasks::ImageSet read_omniglot(const std::string& path, Index side) {
  Collection collection(path, side);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    collect_folder(path, collection);
  } else {
    collect_archive(path, collection);
  }
  return collection.finish();
}

tasks::ImageSet read_omniglot(const std::vector<std::string>& paths, Index side) {
  std::vector<tasks::ImageSet> sets;
  sets.reserve(paths.size());
  for (const std::string& path : paths) sets.push_back(read_omniglot(path, side));
  return tasks::merge_image_sets(sets);
}

}  // namespace headway::io
