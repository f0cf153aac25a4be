#include "io/first_reading.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "core/fail.hpp"
#include "headway/core/text.hpp"
#include "headway/io/hdf5_file.hpp"
#include "io/dataset_file/layout.hpp"
#include "io/hdf5/file_seal.hpp"
#include "io/hdf5/isolated.hpp"
#include "io/hdf5/text_digest.hpp"

namespace headway::io {
namespace {

constexpr std::int64_t kSettledNanoseconds = 2'000'000'000;
constexpr double kMajorVersion = 1;  // of every schema

/// Identifies the content of a file without reading it. Unknown while the file's times may lag.
using Identity = std::array<std::int64_t, 5>;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::optional<Identity> settled_identity(const std::string& file_path) {
  using std::chrono::system_clock;
  struct stat status {};
  if (::stat(file_path.c_str(), &status) != 0) return std::nullopt;
  const std::int64_t changed = std::max(nanoseconds(status.st_mtim), nanoseconds(status.st_ctim));
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(system_clock::now().time_since_epoch());
  if (now.count() - changed < kSettledNanoseconds) return std::nullopt;
  return Identity{static_cast<std::int64_t>(status.st_dev),
                  static_cast<std::int64_t>(status.st_ino), status.st_size,
                  nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

/// "" where the attribute is missing or no text. Root attributes that cannot be listed or opened
/// are damage, also in a file that is none of Headway's: nobody can tell what it was.
std::string schema_of(const Hdf5InputFile& file) {
  static_cast<void>(file.attributes("/"));
  if (!file.has_text_attribute("/", "schema_name")) return {};
  return file.text_attribute("/", "schema_name").value_or("");
}

/// The schema, then the faults: what the forked copy says.
std::vector<std::string> read_all(const std::string& file_path, const CheckedShare& checked) {
  if (checked.parts == 1) {  // the seal needs the whole file, too much for a share of a large one
    const std::string damage = broken_seal(file_path);
    if (!damage.empty()) bad_data("{}: {}", file_path, damage);
  }
  const Hdf5InputFile file(file_path);
  std::vector<std::string> lines;
  try {
    lines.push_back(schema_of(file));
    if (lines[0] == "headway-dataset") {
      const std::vector<std::string> faults = dataset_faults(file, checked);
      lines.insert(lines.end(), faults.begin(), faults.end());
    } else if (lines[0].starts_with("headway-")) {
      const std::string fault = read_everything(file);
      if (!fault.empty()) lines.push_back(fault);
    }
  } catch (const Error& e) {
    fail(e.kind(), "{}: {}", file_path, e.what());
  }
  return lines;
}

struct Known {
  Identity identity{};
  CheckedShare checked;
  FirstReading reading;
  std::optional<Error> error;
};

/// `any`: the answer of an earlier call will do, whatever share of the file that call read.
FirstReading read_first(const std::string& file_path, const CheckedShare& checked, bool any) {
  static std::mutex mutex;
  static std::map<std::string, Known> known;
  const std::optional<Identity> identity = settled_identity(file_path);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(file_path);
  const bool enough = found != known.end() &&
                      (any || found->second.checked.parts == 1 || found->second.checked == checked);
  if (enough && identity == found->second.identity) {
    if (found->second.error) throw Error(*found->second.error);
    return found->second.reading;
  }
  Known now;
  try {
    check_is_hdf5(file_path);
    std::vector<std::string> lines =
        run_isolated(file_path, [&] { return read_all(file_path, checked); });
    now.reading.schema = lines.at(0);
    now.reading.faults.assign(lines.begin() + 1, lines.end());
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kBadData) throw;
    now.error = e;
  }
  if (identity && settled_identity(file_path) == identity) {
    now.identity = *identity;
    now.checked = checked;
    known[file_path] = now;
  }
  if (now.error) throw Error(*now.error);
  return now.reading;
}

}  // namespace

FirstReading first_reading(const std::string& file_path, const CheckedShare& checked) {
  return read_first(file_path, checked, false);
}

void try_hdf5_file(const std::string& file_path) { static_cast<void>(first_reading(file_path)); }

void check_schema(const Hdf5InputFile& file, const std::string& schema) {
  const std::string name = file.text_attribute("/", "schema_name").value_or("");
  if (name != schema) {
    bad_data("root attribute schema_name: is {}; allowed: \"{}\"",
             name.empty() ? "missing" : quoted_text(name), schema);
  }
  const auto version = file.number_attribute("/", "schema_version");
  if (!version || version->empty()) {
    bad_data("root attribute schema_version: is missing; allowed: [1, 0]");
  }
  if (version->front() == kMajorVersion) return;
  bad_data("root attribute schema_version: is [{}]; this Headway reads 1.x{}", join(*version, ", "),
           version->front() > kMajorVersion ? ", the file is newer" : "");
}

std::string schema_name(const std::string& file_path, const CheckedShare& checked) {
  if (!is_hdf5(file_path)) return {};
  try {
    return read_first(file_path, checked, true).schema;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kInterrupted) throw;
    return {};
  }
}

}  // namespace headway::io
