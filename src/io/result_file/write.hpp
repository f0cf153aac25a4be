#pragma once

#include <string>

#include "headway/io/result_file.hpp"
#include "io/hdf5/output.hpp"

namespace headway::io {

inline constexpr std::int64_t kResultSchemaMajor = 1;
inline constexpr std::int64_t kResultSchemaMinor = 0;

/// Schema, kind ("solve", ..., "train"), name of the study and provenance, as root attributes.
void write_result_header(const std::string& kind, const studies::Study& study,
                         const ResultProvenance& provenance, Hdf5OutputFile& out);

}  // namespace headway::io
