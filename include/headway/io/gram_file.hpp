#pragma once

#include <string>

#include "headway/studies/gram.hpp"
#include "headway/studies/provenance.hpp"

namespace headway::io {

inline constexpr const char* kGramSchema = "headway-gram";

/// Writes Gram matrices, or a part of them, as a data set (schema "headway-gram" 1.0;
/// src/io/README.md has its fields) that read_dataset takes. It appears whole or not at all.
/// Errors: kCannotWrite, as write_result.
void write_gram(const std::string& file_path, const studies::GramResult& result,
                const studies::ResultProvenance& provenance, bool force);

/// Reads them back. Under no lock. Errors: kMissingFile; kBadData when the file is damaged, of a
/// newer major version, a part, or holds matrices that no data have (theory::gram_fault).
studies::GramResult read_gram(const std::string& file_path);
/// A part, for studies::merge_grams().
studies::GramResult read_gram_part(const std::string& file_path);

}  // namespace headway::io
