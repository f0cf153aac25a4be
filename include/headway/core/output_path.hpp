#pragma once

#include <string>

namespace headway {

/// Refuses, before a long computation, an output that could not be written at its end:
/// Error{kCannotWrite} when `file_path` exists and `force` is false, is a directory, or lies in a
/// directory that is missing or not writable. Leaves nothing behind.
void check_output_path(const std::string& file_path, bool force);

}  // namespace headway
