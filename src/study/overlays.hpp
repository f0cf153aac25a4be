#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headway/core/option_value.hpp"
#include "headway/study.hpp"

/// Private to study: what --set changes in a tree of sections, and the paths of files in it.
namespace headway {

/// Makes the paths of [task] and of its axes absolute: those of the text from `directory` ("" = the
/// working directory), those of the overlays from the working directory. Puts in what the overlays
/// set, and takes out what they make idle. Returns the keys that they set. Errors: as resolve().
std::vector<std::string> apply_overlays(OptionValue& root, const std::vector<std::string>& overlays,
                                        const std::string& directory);

/// Replaces every path that an axis of [sweep] sets (TaskDescription::paths) by `change` of it.
/// Values of a wrong type, and empty ones, stay. The reader of the key refuses them.
using PathChange = std::function<std::string(const std::string&)>;
void change_paths(SweepAxis& axis, const PathChange& change);

}  // namespace headway
