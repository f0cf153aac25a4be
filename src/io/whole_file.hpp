#pragma once

#include <string>
#include <string_view>

namespace headway::io {

/// Puts `bytes` at `file_path`, whole or not at all: written under a temporary name in the same
/// directory, synced, renamed. Errors: kCannotWrite when the file exists and `force` is false, or
/// with the system's reason; then nothing is left behind.
void write_whole_file(const std::string& file_path, std::string_view bytes, bool force);

}  // namespace headway::io
