#pragma once

#include <new>
#include <string>
#include <vector>

#include "core/fail.hpp"
#include "headway/dataset_file.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {

/// What a foreign file said when this process first read it.
struct FirstReading {
  std::string schema;               ///< root attribute schema_name, "" when there is none
  std::vector<std::string> faults;  ///< of a data set: all; of a result: changed texts
};

/// The HDF5 library can crash on a damaged file, or never end. So a forked copy of this process
/// first checks a data set, or reads a result, from end to end. A file that passes may be opened
/// here. The answer is kept for as long as the file stays the same file (device, inode, size and
/// times). It is not kept for a file written within the last two seconds, since the times of such a
/// file might not show its next change.
/// Errors: kMissingFile when missing or unreadable; kBadData when it is not HDF5, or damaged so
/// that it cannot be read; kInterrupted. Cost: one pass over the file, or that share of it.
FirstReading first_reading(const std::string& file_path, const CheckedShare& checked = {});

/// Error{kBadData} unless the file has this schema, of a major version that this Headway reads.
void check_schema(const Hdf5InputFile& file, const std::string& schema);

/// What `read` makes of a file of `schema` that survived its first reading, under an Hdf5Lock.
/// Errors then name the file; as first_reading(), kBadData for another schema and changed texts,
/// and kUnavailable where memory ends. `bytes` that this program made need no first reading.
template <class Read>
auto read_hdf5(const std::string& file_path, const std::string& schema, Read read,
               std::string_view bytes = {}) {
  const auto faults = bytes.empty() ? first_reading(file_path).faults : std::vector<std::string>();
  const Hdf5Lock lock;
  const Hdf5InputFile file(file_path, bytes);
  try {
    check_schema(file, schema);
    auto value = read(file);
    if (!faults.empty()) bad_data("{}", faults.front());
    return value;
  } catch (const Error& e) {
    fail(e.kind(), "{}: {}", file_path, e.what());
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::kUnavailable, "{}: not enough memory for it", file_path);
  }
}

/// FirstReading::schema, "" also when the file cannot be read. Throws nothing but kInterrupted.
/// A reading of any share will do.
std::string schema_name(const std::string& file_path, const CheckedShare& checked = {});

}  // namespace headway::io
