#include <strings.h>
#include <zip.h>

#include <filesystem>
#include <optional>

#include "core/fail.hpp"
#include "core/whole_file.hpp"
#include "io/media/image_decoders.hpp"
#include "io/media/image_files.hpp"
#include "tasks/drawing_collection.hpp"

namespace headway::io {
namespace {

constexpr int kDeepestFolder = 8;  // far below any Omniglot tree

struct DrawingName {
  std::string folder;  // everything above the alphabet
  std::string alphabet, character, file;
};

// The parts of a path inside archive or folder; none when the file is no drawing.
std::optional<DrawingName> parse_name(const std::string& source, const std::string& path) {
  if (path.ends_with("class_labels.txt")) {
    bad_data(
        "{}: {}: these are Omniglot's one-shot runs, whose folders are not characters: must be a "
        "background or evaluation set",
        source, shown(path));
  }
  if (path.size() <= 4 || ::strcasecmp(path.c_str() + path.size() - 4, ".png") != 0) {
    return std::nullopt;
  }
  const std::vector<std::string> parts = split(path, '/');
  for (const std::string& part : parts) {
    if (part.starts_with('.') || part == "__MACOSX") return std::nullopt;
  }
  if (parts.size() < 3 || !text_fault(path, /*lines=*/false).empty()) {
    bad_data("{}: {}: must be <alphabet>/<character>/<drawing>.png, in printable characters",
             source, shown(path));
  }
  DrawingName name;
  name.file = parts.back();
  name.character = parts[parts.size() - 2];
  name.alphabet = parts[parts.size() - 3];
  for (std::size_t i = 0; i + 3 < parts.size(); ++i) name.folder += parts[i] + "/";
  return name;
}

// Takes drawings one by one, within the limits of what is read.
class Collection {
 public:
  Collection(const std::string& source, Index side) : drawings_(source, side), source_(source) {}

  void add(const DrawingName& name, std::span<const std::uint8_t> bytes) {
    unpacked_ += bytes.size();
    if (++count_ > kMostDrawings || unpacked_ > kMostUnpackedBytes) {
      bad_data("{}: more than {} drawings or {} bytes of them", source_, kMostDrawings,
               kMostUnpackedBytes);
    }
    if (count_ == 1) folder_ = name.folder;
    if (name.folder != folder_) {
      bad_data(
          "{}: drawings lie in '{}' and in '{}': must all lie in one folder (give several folders "
          "as a list)",
          source_, shown(folder_), shown(name.folder));
    }
    const std::string label = fmt::format("{}: {}/{}/{}", source_, shown(name.alphabet),
                                          shown(name.character), shown(name.file));
    const GreyImage image = decode_png(bytes, label);
    drawings_.add({name.alphabet, name.character, name.file}, image.pixels, image.height,
                  image.width);
  }
  [[nodiscard]] tasks::ImageSet finish() const { return drawings_.finish(); }

 private:
  tasks::DrawingCollection drawings_;
  std::string source_, folder_;
  Index count_ = 0;
  std::uint64_t unpacked_ = 0;
};

using Archive = std::unique_ptr<zip_t, void (*)(zip_t*)>;

// Errors: kMissingFile, and kBadData when the directory of the archive is damaged or missing.
Archive open_archive(const std::string& path) {
  require_readable_file(path);
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code), &zip_discard);
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string message = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (code == ZIP_ER_READ) {
    fail(ErrorKind::kMissingFile, "{}: cannot be read: {}", path, message);
  }
  bad_data("{}: is not a valid zip archive (cut short?): {}", path, message);
}

// The unpacked bytes of an entry, their checksum checked. Error{kBadData} when it is damaged,
// encrypted or too large.
std::vector<std::uint8_t> unpack(zip_t* archive, zip_uint64_t entry, const std::string& label) {
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_stat_index(archive, entry, 0, &status) != 0 || (status.valid & ZIP_STAT_SIZE) == 0) {
    bad_data("{}: its size is unknown", label);
  }
  if (status.size > kLargestImageFile) {
    bad_data("{}: has {} bytes when unpacked: must be at most {}", label, status.size,
             kLargestImageFile);
  }
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(archive, entry, 0),
                                                               &zip_fclose);
  if (!file) bad_data("{}: cannot be unpacked: {}", label, zip_strerror(archive));
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
  bad_data("{}: does not unpack to the {} bytes that the archive states", label, bytes.size());
}

void collect_archive(const std::string& path, Collection& collection) {
  const Archive archive = open_archive(path);
  const auto entries = static_cast<zip_uint64_t>(zip_get_num_entries(archive.get(), 0));
  for (zip_uint64_t entry = 0; entry < entries; ++entry) {
    const char* name = zip_get_name(archive.get(), entry, ZIP_FL_ENC_GUESS);
    if (name == nullptr) bad_data("{}: entry {} has no readable name", path, entry);
    const std::optional<DrawingName> drawing = parse_name(path, name);
    if (!drawing) continue;
    const std::string label = fmt::format("{}: {}", path, shown(name));
    collection.add(*drawing, unpack(archive.get(), entry, label));
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
      require_readable_file(at->path().string());
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
