#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/hdf5/input.hpp"

namespace headway::io {

inline constexpr const char* kTextDigest = "text_sha256";  ///< attribute of the root

/// Where the text of an attribute stands: "<object>@<name>", "@<name>" at the root.
std::string text_place(const std::string& object, const std::string& name);

/// What the digest takes of a data set of texts: all of them, each with a NUL behind it.
std::string joined_texts(const std::vector<std::string>& texts);

/// SHA-256 (hex) of place, NUL, text, NUL, for every place in the order of its bytes.
std::string text_digest(const std::map<std::string, std::string>& texts);

/// Reads all attributes, numbers and texts of the file; Error{kBadData} where that fails. Says what
/// is wrong when the texts are not those that were sealed (Hdf5OutputFile::seal). "" if they are,
/// and for files of version 0.1, which have no such seal.
std::string read_everything(const Hdf5InputFile& file);

}  // namespace headway::io
