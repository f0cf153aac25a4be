#pragma once

namespace headway::detail {

// Defined in a source file that the build generates (src/cmake/build_info.cpp.in).
extern const char* const kHeadwayVersion;
extern const char* const kGitCommit;
extern const char* const kDate;
extern const char* const kBuildType;

}  // namespace headway::detail
