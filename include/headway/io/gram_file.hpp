#pragma once

#include <string>

#include "headway/gram_results.hpp"
#include "headway/provenance.hpp"

namespace headway::io {

inline constexpr const char* kGramSchema = "headway-gram";

/// Writes Gram matrices, or a part of them, as a data set (schema "headway-gram" 1.0;
/// src/io/README.md has its fields) that read_dataset takes. It appears whole or not at all.
/// Errors: kCannotWrite, as write_result.
void write_gram(const std::string& file_path, const GramResult& result,
                const ResultProvenance& provenance, bool force);

/// Reads them back. Takes no lock. Errors: kMissingFile; kBadData when the file is damaged, of a
/// newer major version, a part, or holds matrices that no data have (theory::gram_fault).
GramResult read_gram(const std::string& file_path);
/// A part, for headway::merge_grams().
GramResult read_gram_part(const std::string& file_path);

}  // namespace headway::io
