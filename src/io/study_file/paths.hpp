#pragma once

#include <functional>
#include <string>

#include "io/study_file/value.hpp"

namespace headway::io::detail {

/// Puts `change` of it in place of every path that a study names: task.file, task.files, and images
/// and labels of task.out_of_distribution, in [task] and in every axis of [sweep] that sets them.
/// Values of a wrong type, and empty ones, stay: who reads the key refuses them.
void change_paths(Value& root, const std::function<std::string(const std::string&)>& change);

/// change_paths() to absolute ones: relative paths are taken from `directory`, "" = the working
/// directory.
void resolve_paths(Value& root, const std::string& directory);

}  // namespace headway::io::detail
