#pragma once

#include <string>

namespace headway::io {

/// True when the file exists, can be read and carries the HDF5 signature. Never throws.
bool is_hdf5(const std::string& file_path);

/// What an HDF5 file holds, as text for `headway inspect FILE.h5`: for a result, the study, the
/// provenance, a table of its points and the command that remakes it; for a data set, sizes, heads,
/// note, faults; then the tree with the shape and type of every data set. Files of a foreign schema
/// get the tree alone. Errors: kMissingFile when the file is missing or unreadable, kBadData when
/// it is no HDF5 file, damaged, of a newer schema, or a result whose texts were changed by hand.
/// Cost: one pass over the file.
std::string describe_hdf5_file(const std::string& file_path);

/// Reads a file from end to end in a forked copy of this process, so that a damaged file cannot
/// crash or hang this process through the HDF5 library. Errors: kMissingFile; kBadData when it is
/// no HDF5 file, or damaged so that it cannot be read. Cost: one pass over the file; none for one
/// that this process has read before.
void try_hdf5_file(const std::string& file_path);

}  // namespace headway::io
