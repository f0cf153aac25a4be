#pragma once

#include <string>

namespace headway::io {

/// Root attribute schema_name of an HDF5 file as first_reading() found it, "" when there is none or
/// the file cannot be read. Throws nothing but kInterrupted. Takes the HDF5 lock itself.
std::string schema_name(const std::string& file_path);

/// Error{kMissingFile} when the file is missing or unreadable, Error{kBadData} when it is not HDF5.
void check_is_hdf5(const std::string& file_path);

}  // namespace headway::io
