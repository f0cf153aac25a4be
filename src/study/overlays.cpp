#include "study/overlays.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "core/absolute_path.hpp"
#include "core/fail.hpp"
#include "headway/core/text.hpp"
#include "headway/core/utf8.hpp"
#include "headway/study/resolve.hpp"
#include "headway/study/task_kinds.hpp"
#include "study/sweep_axes.hpp"
#include "study/toml.hpp"

namespace headway {
namespace {

namespace fs = std::filesystem;

// --- what is set --------------------------------------------------------------------------------

constexpr std::size_t kLongestOverlay = 60;

/// Splits "a.b.c"; parts may be quoted the TOML way. Empty when it is no key.
std::vector<std::string> split_key(const std::string& text) {
  OptionValue parsed;
  try {
    parsed = detail::parse_toml(text + " = 0", "--set");
  } catch (const Error&) {
    return {};
  }
  std::vector<std::string> parts;
  const OptionValue* at = &parsed;
  while (const auto* table = at->get<OptionValue::Table>()) {
    if (table->size() != 1) return {};
    parts.push_back(table->front().key);
    at = &table->front().value;
  }
  return parts;
}

/// The key of an overlay. An axis of a sweep is one key: sweep.train.heads stands beside
/// sweep.train.
std::vector<std::string> overlay_parts(const std::string& overlay) {
  const std::size_t equals = overlay.find('=');
  std::vector<std::string> parts;
  if (equals != std::string::npos) parts = split_key(overlay.substr(0, equals));
  if (parts.size() > 2 && parts.front() == "sweep") {
    parts = {parts.front(), join({parts.begin() + 1, parts.end()}, ".")};
  }
  if (!parts.empty()) return parts;
  fail(ErrorKind::kUsage, "--set {}: must be section.key=value, for example model.temperature=0.1",
       quoted_text(clip(overlay, kLongestOverlay)));
}

/// Whether a text has digits, a sign of a fraction or list, and nothing but what numbers and lists
/// of them are written with.
bool looks_like_numbers(const std::string& text) {
  return text.find_first_of("0123456789") != std::string::npos &&
         text.find_first_of(".,[") != std::string::npos &&
         text.find_first_not_of("0123456789.,[]+-eE \t") == std::string::npos;
}

/// The right-hand side of an overlay: a TOML value, else a string.
OptionValue overlay_value(const std::string& text) {
  try {
    OptionValue parsed = detail::parse_toml("value = " + text, "--set");
    auto* table = parsed.get<OptionValue::Table>();
    if (table != nullptr && table->size() == 1) return std::move(table->front().value);
  } catch (const Error&) {  // not TOML: a bare string
  }
  if (looks_like_numbers(text)) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--set: {} is no TOML number or list of numbers: write 0.1 and [0.1, 0.2]",
                    quoted_text(clip(text, kLongestOverlay))));
  }
  return {text, {}};
}

void set_place(OptionValue& value, const Place& place) {
  value.place = place;
  if (auto* array = value.get<OptionValue::Array>()) {
    for (OptionValue& item : *array) set_place(item, place);
  } else if (auto* table = value.get<OptionValue::Table>()) {
    for (OptionEntry& entry : *table) set_place(entry.value, place);
  }
}

/// Takes the axis `key` out of [sweep], where `table` is what stands below `prefix`.
void drop_axis(OptionValue::Table& table, const std::string& prefix, const std::string& key) {
  const auto name = [&prefix](const OptionEntry& entry) {
    return prefix.empty() ? entry.key : prefix + "." + entry.key;
  };
  for (OptionEntry& entry : table) {
    if (auto* inner = entry.value.get<OptionValue::Table>()) drop_axis(*inner, name(entry), key);
  }
  std::erase_if(table, [&](const OptionEntry& entry) {
    return entry.value.get<OptionValue::Array>() != nullptr && name(entry) == key;
  });
}

/// Takes the axes that were set by hand out of [sweep]: that of `key` and, if `set` is a table,
/// those of its keys.
void drop_axes(OptionValue& root, const std::string& key, const OptionValue& set) {
  std::vector<std::string> keys = {key};
  if (const auto* table = set.get<OptionValue::Table>()) {
    for (const OptionEntry& entry : *table) keys.push_back(key + "." + entry.key);
  }
  for (OptionEntry& entry : *root.get<OptionValue::Table>()) {
    auto* sweep = entry.key == "sweep" ? entry.value.get<OptionValue::Table>() : nullptr;
    if (sweep == nullptr) continue;
    for (const std::string& swept : keys) drop_axis(*sweep, "", swept);
  }
}

/// Applies one `section.key=value` to a parsed study; the value is TOML, else a string. Makes the
/// tables on the way. Removes the axis of [sweep] that sets only this key, and for a table the axes
/// of its keys. Returns the key, as overlay_key(). Error{kUsage} without '=' or a key.
std::string apply_overlay(OptionValue& root, const std::string& overlay) {
  const std::vector<std::string> parts = overlay_parts(overlay);
  const Place place{
      std::make_shared<const std::string>("--set " + printable(clip(overlay, kLongestOverlay))), 0};
  OptionValue value = overlay_value(overlay.substr(overlay.find('=') + 1));
  OptionValue* at = &root;
  for (const std::string& part : parts) at = &child(*at, part, place);
  set_place(value, place);
  *at = value;
  std::string key = join(parts, ".");
  drop_axes(root, key, value);
  return key;
}

// --- paths of files -----------------------------------------------------------------------------

void change_text(OptionValue& value, const PathChange& change) {
  auto* text = value.get<std::string>();
  if (text != nullptr && !text->empty()) *text = change(*text);
}

/// Whether the key is a path for any kind of task. The kind of this task is read later.
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

/// Replaces every path in a tree of sections by `change` of it.
void change_paths(OptionValue& root, const PathChange& change) {
  for (OptionEntry& entry : *root.get<OptionValue::Table>()) {
    if (entry.key == "task") change_task(entry.value, change);
    auto* sweep = entry.key == "sweep" ? entry.value.get<OptionValue::Table>() : nullptr;
    if (sweep == nullptr) continue;
    for (OptionEntry& axis : *sweep) change_dotted(axis.key, axis.value, change);
  }
}

PathChange from_directory(const fs::path& directory) {
  return [directory](const std::string& file) {
    return fs::path(absolute_path(directory / file)).lexically_normal().string();
  };
}

}  // namespace

void change_paths(SweepAxis& axis, const PathChange& change) {
  for (OptionValue& value : axis.values) change_dotted(axis.key, value, change);
}

std::string overlay_key(const std::string& overlay) { return join(overlay_parts(overlay), "."); }

std::vector<std::string> apply_overlays(OptionValue& root, const std::vector<std::string>& overlays,
                                        const std::string& directory) {
  // Paths in a file are relative to it, typed ones to the working directory.
  change_paths(root, from_directory(directory.empty() ? "." : directory));
  const OptionValue before = root;
  std::vector<std::string> keys;
  for (const std::string& overlay : overlays) keys.push_back(apply_overlay(root, overlay));
  drop_keys_made_idle(before, root);
  change_paths(root, from_directory("."));
  return keys;
}

OptionValue task_overlays(const std::vector<std::string>& overlays) {
  OptionValue root{OptionValue::Table{}, {}};
  for (const std::string& overlay : overlays) apply_overlay(root, overlay);
  change_paths(root, from_directory("."));
  const OptionValue* task = find(*root.get<OptionValue::Table>(), "task");
  return task != nullptr ? *task : root;
}

}  // namespace headway
