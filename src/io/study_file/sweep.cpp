#include "io/study_file/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "headway/core/error.hpp"
#include "io/study_file/fields.hpp"
#include "io/study_file/text.hpp"

namespace headway::io::detail {

namespace {

using studies::Setting;
using studies::SweepAxis;

constexpr std::size_t kMostRuns = 1'000;
constexpr std::size_t kMostValues = 1'000;

struct Axis {
  std::string key;
  const Value* values = nullptr;
};

void collect_axes(const Value::Table& table, const std::string& prefix, std::vector<Axis>& out) {
  for (const Entry& entry : table) {
    const std::string key = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (const Value::Table* inner = entry.value.get<Value::Table>()) {
      collect_axes(*inner, key, out);
      continue;
    }
    const Value::Array* values = entry.value.get<Value::Array>();
    if (values == nullptr || values->empty() || values->size() > kMostValues) {
      refuse(entry.value, "sweep." + key, "a list of 1 to 1000 values of that key");
    }
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const Axis& a) { return a.key == key; });
    if (same != out.end()) out.erase(same);
    out.push_back({key, &entry.value});
  }
}

std::string toml_text(const Value& value) {
  if (const bool* flag = value.get<bool>()) return *flag ? "true" : "false";
  if (const auto* integer = value.get<std::int64_t>()) return std::to_string(*integer);
  if (const double* real = value.get<double>()) return toml_number(*real);
  if (const auto* text = value.get<std::string>()) return toml_string(*text);
  if (const auto* date = value.get<Value::DateTime>()) return date->text;
  std::vector<std::string> parts;
  if (const Value::Array* array = value.get<Value::Array>()) {
    for (const Value& item : *array) parts.push_back(toml_text(item));
    return "[" + join(parts) + "]";
  }
  for (const Entry& entry : *value.get<Value::Table>()) {
    parts.push_back(fmt::format("{} = {}", entry.key, toml_text(entry.value)));
  }
  return "{" + join(parts) + "}";
}

/// Equal as values of a key: 1 and 1.0 are.
bool same_value(const Value& a, const Value& b) {
  const auto number = [](const Value& value) {
    const auto* integer = value.get<std::int64_t>();
    return integer != nullptr               ? std::optional(static_cast<double>(*integer))
           : value.get<double>() != nullptr ? std::optional(*value.get<double>())
                                            : std::nullopt;
  };
  if (a.data.index() != b.data.index()) {
    const auto x = number(a), y = number(b);
    return x && y && *x == *y;
  }
  if (const Value::Array* items = a.get<Value::Array>()) {
    const Value::Array& others = *b.get<Value::Array>();
    return std::equal(items->begin(), items->end(), others.begin(), others.end(), same_value);
  }
  if (const Value::Table* table = a.get<Value::Table>()) {
    const Value::Table& other = *b.get<Value::Table>();
    return table->size() == other.size() &&
           std::all_of(table->begin(), table->end(), [&](const Entry& entry) {
             const Value* value = find(other, entry.key);
             return value != nullptr && same_value(entry.value, *value);
           });
  }
  return toml_text(a) == toml_text(b);
}

/// Twins would look like two independent runs, with a standard error of 0.
void refuse_repeated_values(const Axis& axis) {
  const Value::Array& values = *axis.values->get<Value::Array>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!same_value(values[i], values[j])) continue;
      refuse(*axis.values, "sweep." + axis.key,
             fmt::format("a list of different values; number {} and number {} are both {}", j + 1,
                         i + 1, describe(values[i])));
    }
  }
}

/// The value of the axis that is a table and sets the dotted `key`, or null.
const Value* table_that_sets(const Axis& axis, const std::string& key) {
  for (const Value& value : *axis.values->get<Value::Array>()) {
    const Value::Table* table = value.get<Value::Table>();
    if (table == nullptr) continue;
    for (const Entry& entry : *table) {
      if (axis.key + "." + entry.key == key) return &value;
    }
  }
  return nullptr;
}

void refuse_overlapping(const Axis& whole, const Axis& one) {
  const Value* table = table_that_sets(whole, one.key);
  if (table == nullptr) return;
  refuse(*one.values, "sweep." + one.key,
         fmt::format("absent, or {} without it: sweep.{} sets that key too", describe(*table),
                     whole.key));
}

std::vector<Axis> axes_of(const Value& sweep) {
  const Value::Table* table = sweep.get<Value::Table>();
  if (table == nullptr) refuse(sweep, "sweep", "a table [sweep]");
  std::vector<Axis> axes;
  collect_axes(*table, "", axes);
  for (const Axis& axis : axes) {
    const std::string section = axis.key.substr(0, axis.key.find('.'));
    if (section == "sweep" || section == "schema" || section == "name") {
      refuse(*axis.values, "sweep." + axis.key, "a list of values of another key");
    }
  }
  // The parser sorts keys by name; the file's order is that of their lines.
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
    return a.values->place.line < b.values->place.line;
  });
  return axes;
}

/// axes_of() a sweep whose runs differ from each other.
std::vector<Axis> checked_axes(const Value& sweep) {
  std::vector<Axis> axes = axes_of(sweep);
  for (const Axis& axis : axes) {
    refuse_repeated_values(axis);
    for (const Axis& other : axes) refuse_overlapping(other, axis);
  }
  return axes;
}

Value& child(Value& parent, const std::string& key, const Place& place) {
  if (parent.get<Value::Table>() == nullptr) parent = Value{Value::Table{}, place};
  Value::Table& table = *parent.get<Value::Table>();
  for (Entry& entry : table) {
    if (entry.key == key) return entry.value;
  }
  table.push_back({key, Value{Value::Table{}, place}});
  return table.back().value;
}

/// Puts `value` at the dotted `key`; a table is merged into what is there.
void put(Value& root, const std::string& key, const Value& value) {
  Value* at = &root;
  std::size_t begin = 0;
  while (begin <= key.size()) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    at = &child(*at, key.substr(begin, end - begin), value.place);
    begin = end + 1;
  }
  if (const Value::Table* table = value.get<Value::Table>()) {
    for (const Entry& entry : *table) child(*at, entry.key, value.place) = entry.value;
  } else {
    *at = value;
  }
}

}  // namespace

std::vector<SweepAxis> read_sweep(const Value& sweep) {
  std::vector<SweepAxis> out;
  for (const Axis& axis : checked_axes(sweep)) {
    SweepAxis read{axis.key, {}};
    for (const Value& value : *axis.values->get<Value::Array>()) {
      read.values.push_back(toml_text(value));
    }
    out.push_back(std::move(read));
  }
  return out;
}

namespace {

void drop_from(Value::Table& table, const std::string& prefix, const std::string& key) {
  for (Entry& entry : table) {
    const std::string name = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (Value::Table* inner = entry.value.get<Value::Table>()) drop_from(*inner, name, key);
  }
  std::erase_if(table, [&](const Entry& entry) {
    return entry.value.get<Value::Array>() != nullptr &&
           (prefix.empty() ? entry.key : prefix + "." + entry.key) == key;
  });
}

}  // namespace

void drop_swept_key(Value& root, const std::string& key) {
  std::vector<std::string> keys = {key};
  const Value* value = value_at(root, key);
  if (const Value::Table* set = value != nullptr ? value->get<Value::Table>() : nullptr) {
    for (const Entry& entry : *set) keys.push_back(key + "." + entry.key);
  }
  for (Entry& entry : *root.get<Value::Table>()) {
    Value::Table* table = entry.key == "sweep" ? entry.value.get<Value::Table>() : nullptr;
    if (table == nullptr) continue;
    for (const std::string& swept : keys) drop_from(*table, "", swept);
  }
}

void refuse_table_axes_that_set(const Value& root, const std::string& key) {
  const Value* sweep = find(*root.get<Value::Table>(), "sweep");
  const Value* value = value_at(root, key);
  if (sweep == nullptr || value == nullptr) return;
  for (const Axis& axis : axes_of(*sweep)) {
    const Value* table = table_that_sets(axis, key);
    if (table == nullptr) continue;
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("{}: {}: sweep.{} at {} sets this key, in {}: must be set by one of "
                    "them; to change what is swept, override the axis, for example --set "
                    "'sweep.{}=[{{{} = {}}}]'",
                    value->place.text(), key, axis.key, table->place.text(), describe(*table),
                    axis.key, key.substr(axis.key.size() + 1), toml_text(*value)));
  }
}

std::vector<const Value*> swept_values(const Value& root, const std::string& key) {
  std::vector<const Value*> out;
  const Value* sweep = find(*root.get<Value::Table>(), "sweep");
  if (sweep == nullptr) return out;
  for (const Axis& axis : axes_of(*sweep)) {
    for (const Value& value : *axis.values->get<Value::Array>()) {
      const bool whole = key.starts_with(axis.key + ".");
      const Value* set = whole ? value_at(value, key.substr(axis.key.size() + 1)) : nullptr;
      if (axis.key == key) set = &value;
      if (set != nullptr) out.push_back(set);
    }
  }
  return out;
}

std::vector<SweptTable> expand_sweep(const Value& root) {
  const Value* sweep = find(*root.get<Value::Table>(), "sweep");
  SweptTable base{{}, root};
  std::erase_if(*base.root.get<Value::Table>(), [](const Entry& e) { return e.key == "sweep"; });
  std::vector<SweptTable> runs = {std::move(base)};
  if (sweep == nullptr) return runs;
  for (const Axis& axis : checked_axes(*sweep)) {
    const Value::Array& values = *axis.values->get<Value::Array>();
    if (runs.size() * values.size() > kMostRuns) {
      refuse(*axis.values, "sweep." + axis.key,
             fmt::format("such that the sweep has at most {} runs", kMostRuns));
    }
    std::vector<SweptTable> longer;
    for (const SweptTable& run : runs) {
      for (const Value& value : values) {
        SweptTable next = run;
        put(next.root, axis.key, value);
        next.settings.push_back({axis.key, toml_text(value)});
        longer.push_back(std::move(next));
      }
    }
    runs = std::move(longer);
  }
  return runs;
}

std::string write_sweep(const std::vector<SweepAxis>& sweep) {
  if (sweep.empty()) return "";
  std::string out = "\n[sweep]\n";
  for (const SweepAxis& axis : sweep) {
    out += fmt::format("{} = [{}]\n", toml_string(axis.key), join(axis.values));
  }
  return out;
}

}  // namespace headway::io::detail
