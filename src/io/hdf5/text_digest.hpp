#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/hdf5/input.hpp"

namespace headway::io {

inline constexpr const char* kTextDigest = "text_sha256";  ///< attribute of the root

/// Where the text of an attribute stands: "<object>@<name>", "@<name>" at the root.
std::string text_place(const std::string& object, const std::string& name);

/// What the digest says of a data set of texts: they, each with a NUL behind it.
std::string joined_texts(const std::vector<std::string>& texts);

/// SHA-256 (hex) of place, NUL, text, NUL, for every place in the order of its bytes.
std::string text_digest(const std::map<std::string, std::string>& texts);

/// Error{kBadData} unless the texts of the file are those that were sealed (Hdf5OutputFile::seal);
/// nothing where the file was never sealed, as those of version 0.1 are not. Cost: opens every
/// object.
void check_text_digest(const Hdf5InputFile& file);

}  // namespace headway::io
