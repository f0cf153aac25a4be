#include "io/study_file/overlays.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "headway/core/option_error.hpp"
#include "headway/io/study_file.hpp"
#include "headway/studies/sweep.hpp"
#include "io/fail.hpp"
#include "io/study_file/toml.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kLongestShown = 60;

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
       quoted_text(clip(overlay, kLongestShown)));
}

/// The right-hand side of an overlay: a TOML value, else a string.
OptionValue overlay_value(const std::string& text) {
  try {
    OptionValue parsed = detail::parse_toml("value = " + text, "--set");
    auto* table = parsed.get<OptionValue::Table>();
    if (table != nullptr && table->size() == 1) return std::move(table->front().value);
  } catch (const Error&) {  // not TOML: a bare string
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

/// Takes what was set by hand out of [sweep].
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

}  // namespace

std::string overlay_key(const std::string& overlay) { return join(overlay_parts(overlay), "."); }

namespace detail {

std::string apply_overlay(OptionValue& root, const std::string& overlay) {
  const std::vector<std::string> parts = overlay_parts(overlay);
  const Place place{
      std::make_shared<const std::string>("--set " + printable(clip(overlay, kLongestShown))), 0};
  OptionValue* at = &root;
  for (const std::string& part : parts) at = &child(*at, part, place);
  OptionValue value = overlay_value(overlay.substr(overlay.find('=') + 1));
  set_place(value, place);
  *at = value;
  const std::string key = join(parts, ".");
  drop_axes(root, key, value);
  return key;
}

void refuse_table_axes_that_set(const OptionValue& root, const std::string& key) {
  const OptionValue* sweep = find(*root.get<OptionValue::Table>(), "sweep");
  const OptionValue* value = value_at(root, key);
  if (sweep == nullptr || value == nullptr) return;
  const std::vector<studies::SweepAxis> axes = studies::read_sweep(*sweep);
  const auto [axis, table] = studies::table_that_sets(axes, key);
  if (table == nullptr) return;
  throw OptionError(
      fmt::format("{}: sweep.{} at {} sets this key, in {}: must be set by one of them; to "
                  "change what is swept, override the axis, for example --set "
                  "'sweep.{}=[{{{} = {}}}]'",
                  key, axis->key, table->place.text(), describe(*table), axis->key,
                  key.substr(axis->key.size() + 1), text_of(*value)),
      {key})
      .at(value->place.text());
}

}  // namespace detail
}  // namespace headway::io
