#include "io/study_file/value.hpp"

#include <fmt/format.h>

#include <cmath>

#include "headway/core/error.hpp"
#include "io/study_file/text.hpp"

namespace headway::io::detail {

namespace {

constexpr std::size_t kLongestDescription = 60;

void append_description(const Value& value, std::string& out);

void append_array(const Value::Array& array, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < array.size() && out.size() <= kLongestDescription; ++i) {
    if (i > 0) out += ", ";
    append_description(array[i], out);
  }
  out += ']';
}

void append_table(const Value::Table& table, std::string& out) {
  out += '{';
  for (std::size_t i = 0; i < table.size() && out.size() <= kLongestDescription; ++i) {
    if (i > 0) out += ", ";
    out += table[i].key + " = ";
    append_description(table[i].value, out);
  }
  out += '}';
}

void append_description(const Value& value, std::string& out) {
  if (const bool* flag = value.get<bool>()) {
    out += *flag ? "true" : "false";
  } else if (const std::int64_t* integer = value.get<std::int64_t>()) {
    out += std::to_string(*integer);
  } else if (const double* real = value.get<double>()) {
    out += toml_number(*real);
  } else if (const std::string* text = value.get<std::string>()) {
    out += toml_string(*text);
  } else if (const Value::Array* array = value.get<Value::Array>()) {
    append_array(*array, out);
  } else if (const Value::Table* table = value.get<Value::Table>()) {
    append_table(*table, out);
  } else if (const Value::DateTime* date = value.get<Value::DateTime>()) {
    out += date->text;
  }
}

/// Splits "a.b.c"; parts may be quoted the TOML way. Empty when it is no key.
std::vector<std::string> split_key(const std::string& text) {
  Value parsed;
  try {
    parsed = parse_toml(text + " = 0", "--set");
  } catch (const Error&) {
    return {};
  }
  std::vector<std::string> parts;
  const Value* at = &parsed;
  while (const Value::Table* table = at->get<Value::Table>()) {
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
  throw Error(ErrorKind::kUsage, fmt::format("--set {}: must be section.key=value, for example "
                                             "model.temperature=0.1",
                                             toml_string(clip(overlay, kLongestDescription))));
}

/// The right-hand side of an overlay: a TOML value, else a string.
Value overlay_value(const std::string& text) {
  try {
    Value parsed = parse_toml("value = " + text, "--set");
    Value::Table* table = parsed.get<Value::Table>();
    if (table != nullptr && table->size() == 1) return std::move(table->front().value);
  } catch (const Error&) {  // not TOML: a bare string
  }
  return Value{text, {}};
}

void set_place(Value& value, const Place& place) {
  value.place = place;
  if (Value::Array* array = value.get<Value::Array>()) {
    for (Value& item : *array) set_place(item, place);
  } else if (Value::Table* table = value.get<Value::Table>()) {
    for (Entry& entry : *table) set_place(entry.value, place);
  }
}

}  // namespace

std::string Place::text() const {
  const std::string name = source ? *source : "study";
  return line > 0 ? fmt::format("{}:{}", name, line) : name;
}

const Value* find(const Value::Table& table, std::string_view key) {
  for (const Entry& entry : table) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const Value* value_at(const Value& root, const std::string& key) {
  const Value* at = &root;
  for (std::size_t begin = 0; at != nullptr && begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    const Value::Table* table = at->get<Value::Table>();
    at = table != nullptr ? find(*table, key.substr(begin, end - begin)) : nullptr;
    begin = end + 1;
  }
  return at;
}

std::string describe(const Value& value) {
  std::string out;
  append_description(value, out);
  return clip(out, kLongestDescription);
}

std::string overlay_key(const std::string& overlay) { return join(overlay_parts(overlay), "."); }

std::string apply_overlay(Value& root, const std::string& overlay) {
  const std::vector<std::string> parts = overlay_parts(overlay);
  const Place place{
      std::make_shared<const std::string>("--set " + printable(clip(overlay, kLongestDescription))),
      0};
  Value* at = &root;
  for (const std::string& part : parts) {
    if (at->get<Value::Table>() == nullptr) *at = Value{Value::Table{}, place};
    Value::Table& table = *at->get<Value::Table>();
    Value* next = nullptr;
    for (Entry& entry : table) {
      if (entry.key == part) next = &entry.value;
    }
    if (next == nullptr) {
      table.push_back({part, Value{Value::Table{}, place}});
      next = &table.back().value;
    }
    at = next;
  }
  *at = overlay_value(overlay.substr(overlay.find('=') + 1));
  set_place(*at, place);
  return join(parts, ".");
}

}  // namespace headway::io::detail
