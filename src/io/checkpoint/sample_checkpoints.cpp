#include "headway/io/sample_checkpoints.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "headway/core/error.hpp"
#include "headway/core/sha256.hpp"
#include "headway/io/provenance.hpp"
#include "headway/studies/study_hash.hpp"
#include "io/whole_file.hpp"

namespace headway::io {
namespace {

namespace fs = std::filesystem;

// A file: kMagic, u64 length and text of the identity, u64 length and bytes of the content, and 64
// hexadecimal digits: the SHA-256 of all before.
constexpr std::string_view kMagic = "headway-sample-checkpoint 1\n";
constexpr std::string_view kPrefix = "point_";
constexpr std::size_t kHashDigits = 64;

std::string point_path(const std::string& folder, std::size_t point) {
  return (fs::path(folder) / fmt::format("{}{}", kPrefix, point)).string();
}

void append_part(std::string& out, std::string_view part) {
  const std::uint64_t length = part.size();
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  out.append(part);
}

std::string encode(const std::string& identity, const std::vector<std::uint8_t>& content) {
  std::string out(kMagic);
  append_part(out, identity);
  append_part(out, {reinterpret_cast<const char*>(content.data()), content.size()});
  out += sha256_hex(out);
  return out;
}

struct Decoded {
  std::string identity;
  std::vector<std::uint8_t> content;
};

/// The next part of `rest`, which shrinks; nothing when it is cut short.
std::optional<std::string_view> take_part(std::string_view& rest) {
  std::uint64_t length = 0;
  if (rest.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, rest.data(), sizeof length);
  rest.remove_prefix(sizeof length);
  if (length > rest.size()) return std::nullopt;
  const std::string_view part = rest.substr(0, length);
  rest.remove_prefix(length);
  return part;
}

/// Nothing when the bytes are truncated, damaged or no checkpoint.
std::optional<Decoded> decode(std::string_view bytes) {
  if (bytes.size() < kMagic.size() + kHashDigits || !bytes.starts_with(kMagic)) return std::nullopt;
  const std::string_view guarded = bytes.substr(0, bytes.size() - kHashDigits);
  if (sha256_hex(guarded) != bytes.substr(guarded.size())) return std::nullopt;
  std::string_view rest = guarded.substr(kMagic.size());
  const auto identity = take_part(rest);
  const auto content = identity ? take_part(rest) : std::nullopt;
  if (!content || !rest.empty()) return std::nullopt;
  return Decoded{std::string(*identity), {content->begin(), content->end()}};
}

/// The first line of `theirs` that differs from `ours`, as "seed 1, here 2".
std::string difference(const std::string& theirs, const std::string& ours) {
  std::size_t begin = 0;
  while (begin < theirs.size()) {
    const std::size_t end = theirs.find('\n', begin);
    const std::string_view line = std::string_view(theirs).substr(begin, end - begin);
    const std::size_t same = ours.find('\n', begin);
    const std::string_view mine =
        begin < ours.size() ? std::string_view(ours).substr(begin, same - begin) : "";
    if (line != mine) {
      const std::size_t value = mine.rfind(' ');
      return fmt::format("{}, here {}", line,
                         value == std::string_view::npos ? mine : mine.substr(value + 1));
    }
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return "another study";
}

/// The content of one file, or nothing when there is none, or it is unfit and `force` is set.
std::vector<std::uint8_t> load_point(const std::string& file_path, const std::string& identity,
                                     bool force) {
  if (!fs::exists(file_path)) return {};
  std::optional<Decoded> found = decode(read_whole_file(file_path));
  if (found && found->identity == identity) return std::move(found->content);
  if (force) return {};
  if (!found) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: the checkpoint is truncated or damaged: delete it, or start "
                            "afresh with --force",
                            file_path));
  }
  throw Error(ErrorKind::kBadStudy,
              fmt::format("{}: the checkpoint belongs to another run ({}): repeat the command it "
                          "comes from, choose another -o, or start afresh with --force",
                          file_path, difference(found->identity, identity)));
}

}  // namespace

SampleCheckpoints::SampleCheckpoints(const std::string& result_path, const studies::Study& study,
                                     const std::string& data_hash, bool force)
    : folder_(result_path + ".checkpoint"),
      identity_(fmt::format("version {}\nseed {}\ndata {}\nstudy {}\n", build_info().version,
                            study.seed, data_hash, studies::sample_hash(study))),
      force_(force),
      saves_(study.sample.checkpoint_seconds > 0.0) {
  std::error_code ignored;
  if (!fs::exists(folder_, ignored)) return;
  if (!fs::is_directory(folder_, ignored)) {
    throw Error(ErrorKind::kCannotWrite,
                fmt::format("{}: is in the way of the folder of checkpoints", folder_));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    if (!load_point(entry.path().string(), identity_, force_).empty()) ++resumable_;
  }
}

studies::SampleHooks SampleCheckpoints::hooks() const {
  studies::SampleHooks hooks;
  hooks.load = [*this](std::size_t point) {
    return load_point(point_path(folder_, point), identity_, force_);
  };
  if (!saves_) return hooks;
  hooks.save = [*this](std::size_t point, const std::vector<std::uint8_t>& content) {
    std::error_code failure;
    fs::create_directory(folder_, failure);
    if (failure) {
      throw Error(ErrorKind::kCannotWrite,
                  fmt::format("{}: cannot be made: {}", folder_, failure.message()));
    }
    write_whole_file(point_path(folder_, point), encode(identity_, content), true);
  };
  return hooks;
}

void SampleCheckpoints::remove() const {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) || name.starts_with(".headway-")) {
      fs::remove(entry.path(), ignored);
    }
  }
  fs::remove(folder_, ignored);  // stays when somebody put a file of their own there
}

}  // namespace headway::io
