#pragma once

#include <string>
#include <vector>

#include "headway/io/result_file.hpp"
#include "headway/studies/study.hpp"

namespace headway::io {

/// What this build of Headway is.
struct BuildInfo {
  std::string version;     ///< "0.1.0"
  std::string git_commit;  ///< hexadecimal, then " with changes" where there were any; "unknown"
  std::string compiler;    ///< "GCC 12.2.0"
  std::string build_type;  ///< "Release"
};

BuildInfo build_info();

/// Now, as "2025-01-31T12:34:56Z".
std::string utc_now();

/// Everything of a result's provenance that is known before the computation: the study and its
/// hash, the hash of the data, version, commit, compiler, BLAS, command, start (now), seed.
/// `threads`, `seconds` and `partial` are filled in from the result.
ResultProvenance make_provenance(const studies::Study& study, const std::string& data_hash,
                                 const std::vector<std::string>& arguments);

}  // namespace headway::io
