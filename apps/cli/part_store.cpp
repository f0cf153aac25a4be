#include "part_store.hpp"

#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is of POSIX

#include <algorithm>
#include <filesystem>

#include "headway/error.hpp"
#include "headway/merge.hpp"
#include "headway/result_file.hpp"
#include "headway/schedule/parts.hpp"
#include "headway/shard.hpp"

namespace headway::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "part_";

std::string new_folder() {
  std::string name = (fs::temp_directory_path() / "headway-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) return name;
  throw Error(ErrorKind::kCannotWrite, fmt::format("{}: cannot be made", name));
}

/// Why a part that was found does not belong to this result; "" when it does.
std::string strangeness(const headway::ResultProvenance& found,
                        const headway::ResultProvenance& whole, const std::string& shard) {
  std::string other = headway::other_origin(found, whole);
  if (!other.empty()) return other;
  return found.shard == shard ? "" : fmt::format("is part {}, not {}", found.shard, shard);
}

}  // namespace

PartStore::PartStore(const std::string& result_path, const headway::ResultProvenance& whole,
                     std::size_t units, bool force)
    : folder_(result_path.empty() ? new_folder() : result_path + ".checkpoint"),
      for_this_call_(result_path.empty()),
      there_(units, false) {
  std::error_code ignored;
  if (force) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(kName) || headway::is_part_name(name)) fs::remove(entry.path(), ignored);
    }
  }
  for (std::size_t unit = 0; unit < units; ++unit) look(unit, whole);
}

PartStore::~PartStore() {
  if (for_this_call_) remove();
}

void PartStore::look(std::size_t unit, const headway::ResultProvenance& whole) {
  std::error_code ignored;
  if (!fs::exists(file(unit), ignored)) return;
  const std::string shard = headway::shard_text({unit, there_.size()});
  const std::string fault = strangeness(io::read_result_provenance(file(unit)), whole, shard);
  there_[unit] = fault.empty();
  if (there_[unit]) return;
  throw Error(ErrorKind::kBadStudy,
              fmt::format("{}: {}; --force deletes it and starts again, another -o keeps it",
                          file(unit), fault));
}

std::size_t PartStore::count() const {
  return static_cast<std::size_t>(std::count(there_.begin(), there_.end(), true));
}

std::string PartStore::file(std::size_t unit) const {
  return (fs::path(folder_) / fmt::format("{}{}.h5", kName, unit)).string();
}

void PartStore::put(std::size_t unit, std::string_view bytes) {
  std::error_code failure;
  fs::create_directory(folder_, failure);
  if (failure) {
    throw Error(ErrorKind::kCannotWrite,
                fmt::format("{}: cannot be made: {}", folder_, failure.message()));
  }
  io::write_result_bytes(file(unit), bytes, true);
  there_[unit] = true;
}

void PartStore::remove() const {
  std::error_code ignored;
  for (std::size_t unit = 0; unit < there_.size(); ++unit) fs::remove(file(unit), ignored);
  fs::remove(folder_, ignored);  // stays while there are checkpoints
}

}  // namespace headway::cli
