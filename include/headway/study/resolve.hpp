#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/core/option_value.hpp"
#include "headway/study.hpp"
#include "headway/study/train_run.hpp"

namespace headway {

/// A study that was read and checked.
struct ResolvedStudy {
  Study study;
  std::vector<TrainRun> runs;  ///< of its sweep, checked; of a study without one, the study alone
};

/// A study from its text (src/io/README.md, "Study file"; schema 1) and `overlays`. Keys left out
/// keep the defaults of Study; `schema` left out means 1. `source_name` names the text in messages.
///
/// Each overlay is `section.key=value`. The value is TOML, or else a string. An overlay acts as if
/// the line of the file were edited. It replaces an axis of [sweep] that sets its key alone.
///
/// Relative paths of [task] in the text and its sweep are taken from `directory` ("" = the working
/// directory), those of overlays from the working directory. The study has absolute ones.
///
/// Errors: kUsage on an overlay that is not key=value. kBadStudy, naming file, line, key, value and
/// what is allowed, on
///   - a syntax error, an unknown key (with the nearest known one), a wrong type, a value out of
///     range;
///   - values that contradict each other;
///   - a key that is set twice: by two lines of [sweep], or by an overlay and a line of [sweep]
///   that
///     sets a whole table; an axis that has a value twice.
ResolvedStudy resolve(std::string_view text, const std::string& source_name,
                      const std::vector<std::string>& overlays = {},
                      const std::string& directory = "");

/// "section.key" of an overlay, without blanks and quotes. Error{kUsage} when it is not key=value.
std::string overlay_key(const std::string& overlay);

/// Overlays `task.key=value` as a table of keys of [task]; relative paths are taken from the
/// working directory. Error{kUsage} as resolve().
OptionValue task_overlays(const std::vector<std::string>& overlays);

}  // namespace headway
