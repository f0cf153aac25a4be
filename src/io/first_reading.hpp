#pragma once

#include <string>
#include <vector>

namespace headway::io {

/// What a foreign file said when this process first read it.
struct FirstReading {
  std::string schema;               ///< root attribute schema_name, "" when there is none
  std::vector<std::string> faults;  ///< of a data set: all; of a result: changed texts
};

/// The HDF5 library can crash on a damaged file, or never end: so a data set is checked, and a
/// result read, from end to end in a forked copy of this process first. What survived that may be
/// opened here. The answer is kept for as long as the file stays the same file (device, inode, size
/// and times); not that of a file written within the last two seconds, whose next change its times
/// might not show.
/// Errors: kMissingFile when missing or unreadable; kBadData when it is not HDF5, or damaged so
/// that it cannot be read; kInterrupted. Cost: one pass over the file.
FirstReading first_reading(const std::string& file_path);

/// FirstReading::schema, "" also when the file cannot be read. Throws nothing but kInterrupted.
std::string schema_name(const std::string& file_path);

}  // namespace headway::io
