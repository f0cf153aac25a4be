#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <tuple>
#include <utility>

#include "headway/core/error.hpp"
#include "headway/io/image_files.hpp"
#include "io/dataset_file/names.hpp"
#include "io/media/image_decoders.hpp"
#include "io/whole_file.hpp"

namespace headway::io {
namespace {

constexpr int kDeepestFolder = 8;  // far below any Omniglot tree

struct DrawingName {
  std::string folder;  // everything above the alphabet
  std::string alphabet;
  std::string character;
  std::string file;
};

struct Drawing {
  DrawingName name;
  std::vector<std::uint8_t> pixels;  // [side, side]
};

bool has_png_suffix(const std::string& name) {
  constexpr std::size_t kSuffix = 4;
  if (name.size() <= kSuffix) return false;
  std::string suffix = name.substr(name.size() - kSuffix);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return c < 'A' || c > 'Z' ? c : c - 'A' + 'a'; });
  return suffix == ".png";
}

// The parts of a path inside archive or folder; none when the file is no drawing.
std::optional<DrawingName> parse_name(const std::string& source, const std::string& path) {
  if (path.ends_with("class_labels.txt")) {
    refuse(source, printable(path) +
                       ": these are Omniglot's one-shot runs, whose folders are no "
                       "characters: give a background or evaluation set");
  }
  if (!has_png_suffix(path)) return std::nullopt;
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& part : parts) {
    if (part.starts_with('.') || part == "__MACOSX") return std::nullopt;
  }
  if (parts.size() < 3 || !text_fault(path, /*lines=*/false).empty()) {
    refuse(source,
           printable(path) + ": must be <alphabet>/<character>/<drawing>.png, in plain text");
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

  void add(DrawingName name, std::span<const std::uint8_t> bytes) {
    unpacked_ += bytes.size();
    if (static_cast<Index>(drawings_.size()) >= kMostDrawings || unpacked_ > kMostUnpackedBytes) {
      refuse(source_, fmt::format("more than {} drawings or {} bytes of them", kMostDrawings,
                                  kMostUnpackedBytes));
    }
    if (!drawings_.empty() && name.folder != drawings_.front().name.folder) {
      refuse(source_,
             fmt::format("drawings lie below '{}' and below '{}': must all lie below one folder "
                         "(give several folders one by one)",
                         printable(drawings_.front().name.folder), printable(name.folder)));
    }
    const std::string label = source_ + ": " + path_of(name);
    const GreyImage image = decode_png(bytes, label);
    if (image.height != image.width) {
      refuse(label, fmt::format("is {} x {} pixels: must be square", image.width, image.height));
    }
    drawings_.push_back(
        {std::move(name), tasks::resize_grey(image.pixels, image.height, image.width, side_)});
  }

  tasks::ImageSet finish() {
    if (drawings_.empty()) {
      refuse(source_, "holds no drawing: must have files <alphabet>/<character>/<drawing>.png");
    }
    std::sort(drawings_.begin(), drawings_.end(), [](const Drawing& a, const Drawing& b) {
      return std::tie(a.name.alphabet, a.name.character, a.name.file) <
             std::tie(b.name.alphabet, b.name.character, b.name.file);
    });
    tasks::ImageSet set;
    set.name = source_;
    set.side = side_;
    std::vector<std::uint8_t> pixels;
    for (std::size_t i = 0; i < drawings_.size(); ++i) {
      const Drawing& d = drawings_[i];
      const DrawingName* next = i + 1 < drawings_.size() ? &drawings_[i + 1].name : nullptr;
      pixels.insert(pixels.end(), d.pixels.begin(), d.pixels.end());
      if (next != nullptr && next->alphabet == d.name.alphabet &&
          next->character == d.name.character) {
        if (next->file == d.name.file) refuse(source_, path_of(d.name) + " is there twice");
        continue;
      }
      tasks::add_class(set, d.name.alphabet, d.name.character, pixels);
      pixels.clear();
    }
    return set;
  }

 private:
  static std::string path_of(const DrawingName& name) {
    return fmt::format("{}/{}/{}", printable(name.alphabet), printable(name.character),
                       printable(name.file));
  }

  std::string source_;
  Index side_;
  std::vector<Drawing> drawings_;
  std::uint64_t unpacked_ = 0;
};

void collect_archive(const std::string& path, Collection& collection) {
  const ZipArchive archive(path);
  for (Index entry = 0; entry < archive.entries(); ++entry) {
    std::optional<DrawingName> name = parse_name(path, archive.name(entry));
    if (name) collection.add(std::move(*name), archive.read(entry, kLargestImageFile));
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
      collection.add(std::move(*name),
                     {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    }
    at.increment(error);
  }
  if (error) {
    throw Error(ErrorKind::kMissingFile,
                fmt::format("{}: cannot be read: {}", path, error.message()));
  }
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
