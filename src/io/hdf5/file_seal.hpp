#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headway::io {

// HDF5 has no checksum for scalars, texts and some of its headers. So every file that Headway
// writes ends with a seal: kSealBytes of text behind the last byte of HDF5, with the CRC-32 of all
// bytes before it. A CRC-32 notices every change of up to 32 bits in a row. HDF5 ignores what
// stands behind its end, and cuts it off when it writes: a file that somebody edits loses its seal.

inline constexpr std::size_t kSealBytes = 32;

/// The seal of a file with these bytes.
std::string seal_of(std::string_view bytes);

/// Puts `bytes` and their seal at `file_path`, whole or not at all. Errors: as write_whole_file().
void write_sealed_file(const std::string& file_path, std::string_view bytes, bool force);

/// Says what is wrong when the file ends with a seal that is not that of its bytes, else "".
/// Error{kMissingFile} when it cannot be read. Cost: one pass over the file, about 1 s a GB.
std::string broken_seal(const std::string& file_path);

/// A text that changes with the bytes of the file: its size, and the CRC-32 of its seal, or of all
/// bytes where it has none. Cost: none for a sealed file, else one pass.
std::string content_mark(const std::string& file_path);

}  // namespace headway::io
