#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/core/option_value.hpp"
#include "headway/study.hpp"
#include "headway/train_run.hpp"

namespace headway {

/// A study that was read and checked.
struct ResolvedStudy {
  Study study;
  std::vector<TrainRun> runs;  ///< of its sweep, checked; of a study without one, the study alone
};

/// A study from its text (src/io/README.md, "Study file"; schema 1) and `overlays`, each
/// `section.key=value` with a TOML value, else a string; an overlay acts as if the line of the file
/// were edited. Keys left out keep the defaults of Study; `schema` left out means 1. `source_name`
/// names the text in messages. Relative paths of [task], in the text and its sweep, are taken from
/// `directory` ("" = the working directory), those of overlays from the working directory; the
/// study has absolute ones. An overlay takes the place of the axis of [sweep] that sets its key
/// alone. Errors: kBadStudy naming file, line, key, value and what is allowed, on a syntax error,
/// an unknown key (with the nearest known one), a wrong type, a value out of range, or values that
/// contradict each other, as where two lines of [sweep], or one that sets a whole table and an
/// overlay, set the same key, or an axis has a value twice; kUsage on an overlay that is not
/// key=value.
ResolvedStudy resolve(std::string_view text, const std::string& source_name,
                      const std::vector<std::string>& overlays = {},
                      const std::string& directory = "");

/// "section.key" of an overlay, without blanks and quotes. Error{kUsage} when it is not key=value.
std::string overlay_key(const std::string& overlay);

/// Overlays `task.key=value` as a table of keys of [task]; relative paths are taken from the
/// working directory. Error{kUsage} as resolve().
OptionValue task_overlays(const std::vector<std::string>& overlays);

}  // namespace headway
