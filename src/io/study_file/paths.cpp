#include "io/study_file/paths.hpp"

#include <filesystem>

namespace headway::io::detail {

namespace {

using Change = std::function<std::string(const std::string&)>;

void change_text(Value& value, const Change& change) {
  std::string* text = value.get<std::string>();
  if (text != nullptr && !text->empty()) *text = change(*text);
}

/// `key` is one of [task]; `value` one value of it, or a list of them.
void change_key(const std::string& key, Value& value, const Change& change) {
  if (Value::Array* array = value.get<Value::Array>()) {
    for (Value& item : *array) change_key(key, item, change);
    return;
  }
  if (key == "file" || key == "files") return change_text(value, change);
  Value::Table* table = value.get<Value::Table>();
  if (key != "out_of_distribution" || table == nullptr) return;
  for (Entry& entry : *table) {
    if (entry.key == "images" || entry.key == "labels") change_text(entry.value, change);
  }
}

/// A table [task], or a list of them.
void change_task(Value& task, const Change& change) {
  if (Value::Array* array = task.get<Value::Array>()) {
    for (Value& item : *array) change_task(item, change);
  } else if (Value::Table* table = task.get<Value::Table>()) {
    for (Entry& entry : *table) change_key(entry.key, entry.value, change);
  }
}

}  // namespace

void change_paths(Value& root, const Change& change) {
  constexpr std::string_view kTask = "task.";
  for (Entry& entry : *root.get<Value::Table>()) {
    if (entry.key == "task") change_task(entry.value, change);
    Value::Table* sweep = entry.key == "sweep" ? entry.value.get<Value::Table>() : nullptr;
    if (sweep == nullptr) continue;
    for (Entry& axis : *sweep) {
      if (axis.key == "task") change_task(axis.value, change);
      if (axis.key.starts_with(kTask)) {
        change_key(axis.key.substr(kTask.size()), axis.value, change);
      }
    }
  }
}

void resolve_paths(Value& root, const std::string& directory) {
  const std::filesystem::path from = directory.empty() ? "." : directory;
  change_paths(root, [&from](const std::string& file) {
    return std::filesystem::absolute(from / file).lexically_normal().string();
  });
}

}  // namespace headway::io::detail
