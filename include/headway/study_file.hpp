#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/study.hpp"

namespace headway::io {

/// What the file given in place of a study was.
enum class StudyOrigin {
  kStudyFile,    ///< a TOML study
  kDatasetFile,  ///< a data-set file: defaults for the rest
  kResultFile,   ///< a result file: the study stored in it
};

/// A study with what it was read from.
struct LoadedStudy {
  headway::Study study;
  StudyOrigin origin = StudyOrigin::kStudyFile;
};

/// Parses a study (src/io/README.md, "Study file"; schema 1) and applies `overlays`, each
/// `section.key=value` with a TOML value, else a string; an overlay acts as if the line of the file
/// were edited. Keys left out keep the defaults of headway::Study; `schema` left out means 1.
/// `source_name` names the text in messages. Relative paths of [task], in the text, its sweep and
/// the overlays, are taken from `directory` ("" = the working directory); the study has absolute
/// ones. An overlay takes the place of the axis of [sweep] that sets its key alone. Errors:
/// kBadStudy naming file, line, key, value and what is allowed, on a syntax error, an unknown key
/// (with the nearest known one), a wrong type, a value out of range, or values that contradict each
/// other, as where two lines of [sweep], or one that sets a whole table and an overlay, set the
/// same key, or an axis has a value twice; kUsage on an overlay that is not key=value.
headway::Study parse_study(std::string_view text, const std::string& source_name,
                           const std::vector<std::string>& overlays = {},
                           const std::string& directory = "");

/// "section.key" of an overlay, without blanks and quotes. Error{kUsage} when it is not key=value.
std::string overlay_key(const std::string& overlay);

/// Overlays `task.key=value` as a table of keys of [task]; relative paths are taken from the
/// working directory. Error{kUsage} as parse_study().
OptionValue task_overlays(const std::vector<std::string>& overlays);

/// Reads a study file, or a data-set or result file in place of one. Errors: as parse_study;
/// kMissingFile when the file is missing or unreadable; kBadData when it is HDF5 but neither a data
/// set nor a result.
LoadedStudy read_study(const std::string& file_path, const std::vector<std::string>& overlays = {});

/// The fully resolved study as TOML text (headway::study_text()): parse_study(write_study(s)) gives
/// s back, bit for bit.
std::string write_study(const headway::Study& study);

}  // namespace headway::io
