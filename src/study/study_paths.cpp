#include <algorithm>
#include <string_view>

#include "headway/study/task_kinds.hpp"
#include "headway/sweep.hpp"

namespace headway {
namespace {

void change_text(OptionValue& value, const PathChange& change) {
  auto* text = value.get<std::string>();
  if (text != nullptr && !text->empty()) *text = change(*text);
}

/// Is it a path for any kind of task? Which kind it is, is read later.
bool is_path(const std::string& key) {
  return std::any_of(task_kinds().begin(), task_kinds().end(), [&](const TaskDescription& kind) {
    return std::find(kind.paths.begin(), kind.paths.end(), key) != kind.paths.end();
  });
}

/// `key` is one of [task] ("files", "out_of_distribution.images"); `value` one value of it, or a
/// list of them.
void change_key(const std::string& key, OptionValue& value, const PathChange& change) {
  if (auto* array = value.get<OptionValue::Array>()) {
    for (OptionValue& item : *array) change_key(key, item, change);
  } else if (auto* table = value.get<OptionValue::Table>()) {
    for (OptionEntry& entry : *table) change_key(key + "." + entry.key, entry.value, change);
  } else if (is_path(key)) {
    change_text(value, change);
  }
}

/// A table [task], or a list of them.
void change_task(OptionValue& task, const PathChange& change) {
  if (auto* array = task.get<OptionValue::Array>()) {
    for (OptionValue& item : *array) change_task(item, change);
  } else if (auto* table = task.get<OptionValue::Table>()) {
    for (OptionEntry& entry : *table) change_key(entry.key, entry.value, change);
  }
}

/// `key` of the root or of a sweep.
void change_dotted(const std::string& key, OptionValue& value, const PathChange& change) {
  constexpr std::string_view kTask = "task.";
  if (key == "task") change_task(value, change);
  if (key.starts_with(kTask)) change_key(key.substr(kTask.size()), value, change);
}

}  // namespace

void change_paths(OptionValue& root, const PathChange& change) {
  for (OptionEntry& entry : *root.get<OptionValue::Table>()) {
    if (entry.key == "task") change_task(entry.value, change);
    auto* sweep = entry.key == "sweep" ? entry.value.get<OptionValue::Table>() : nullptr;
    if (sweep == nullptr) continue;
    for (OptionEntry& axis : *sweep) change_dotted(axis.key, axis.value, change);
  }
}

void change_paths(SweepAxis& axis, const PathChange& change) {
  for (OptionValue& value : axis.values) change_dotted(axis.key, value, change);
}

}  // namespace headway
