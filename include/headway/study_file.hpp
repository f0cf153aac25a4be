#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/study.hpp"
#include "headway/study/resolve.hpp"

namespace headway::io {

/// What the file given in place of a study was.
enum class StudyOrigin {
  kStudyFile,    ///< a TOML study
  kDatasetFile,  ///< a data-set file: defaults for the rest
  kResultFile,   ///< a result file: the study stored in it
};

/// A study with what it was read from.
struct LoadedStudy {
  Study study;
  StudyOrigin origin = StudyOrigin::kStudyFile;
};

/// resolve() without the runs.
Study parse_study(std::string_view text, const std::string& source_name,
                  const std::vector<std::string>& overlays = {}, const std::string& directory = "");

using headway::overlay_key;
using headway::task_overlays;

/// Reads a study file, or a data-set or result file in place of one. Errors: as parse_study;
/// kMissingFile when the file is missing or unreadable; kBadData when it is HDF5 but neither a data
/// set nor a result.
LoadedStudy read_study(const std::string& file_path, const std::vector<std::string>& overlays = {});

/// The fully resolved study as TOML text (headway::study_text()): parse_study(write_study(s)) gives
/// s back, bit for bit.
std::string write_study(const Study& study);

}  // namespace headway::io
