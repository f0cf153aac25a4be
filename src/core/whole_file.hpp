#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "headway/error.hpp"

namespace headway {

inline constexpr std::uint64_t kNoLimit = UINT64_MAX;

/// The bytes of a file, or of anything else that can be read to its end: waits for a pipe. Where
/// only a file makes sense, call require_readable_file() first. Errors: kMissingFile when it is
/// missing, a directory or unreadable; `too_long` when it has more than `limit` bytes.
std::string read_whole_file(const std::string& file_path, std::uint64_t limit = kNoLimit,
                            ErrorKind too_long = ErrorKind::kBadData);

/// Error{kMissingFile} unless `file_path` is a regular file that can be opened; follows links.
void require_readable_file(const std::string& file_path);

/// The path of the file that a path names: symbolic links are followed, also one to a file that is
/// not there yet. What is no regular file keeps its name.
std::string final_path(const std::string& file_path);

/// Puts `bytes` at `file_path`, whole or not at all: written under a temporary name in the same
/// directory, synced, renamed. Temporary files that killed processes left there are removed.
/// Errors: kCannotWrite when the file exists and `force` is false, or with the system's reason;
/// then nothing is left behind.
/// `tail`: more bytes, behind the others.
void write_whole_file(const std::string& file_path, std::string_view bytes, bool force,
                      std::string_view tail = {});

/// Sorted names of what a directory holds; those found before an `error`, none where there is no
/// directory. That is no error: another process may have removed it.
std::vector<std::string> names_in_directory(const std::string& directory, std::error_code& error);

/// Removes the temporary files that killed processes left in a directory; those of living ones
/// stay.
void remove_orphans(const std::string& directory);

}  // namespace headway
