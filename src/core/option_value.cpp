#include "headway/core/option_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "headway/core/text.hpp"

namespace headway {
namespace {

constexpr std::size_t kLongestDescription = 60;
constexpr std::size_t kEndless = static_cast<std::size_t>(-1);

/// Stops soon after `longest` bytes: lists may have millions of entries.
void append(const OptionValue& value, std::size_t longest, std::string& out);

void append_array(const OptionValue::Array& array, std::size_t longest, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < array.size() && out.size() <= longest; ++i) {
    if (i > 0) out += ", ";
    append(array[i], longest, out);
  }
  out += ']';
}

void append_table(const OptionValue::Table& table, std::size_t longest, std::string& out) {
  out += '{';
  for (std::size_t i = 0; i < table.size() && out.size() <= longest; ++i) {
    if (i > 0) out += ", ";
    out += table[i].key + " = ";
    append(table[i].value, longest, out);
  }
  out += '}';
}

void append(const OptionValue& value, std::size_t longest, std::string& out) {
  if (const bool* flag = value.get<bool>()) {
    out += *flag ? "true" : "false";
  } else if (const auto* integer = value.get<std::int64_t>()) {
    out += std::to_string(*integer);
  } else if (const double* real = value.get<double>()) {
    out += number_text(*real);
  } else if (const auto* text = value.get<std::string>()) {
    out += quoted_text(*text);
  } else if (const auto* array = value.get<OptionValue::Array>()) {
    append_array(*array, longest, out);
  } else if (const auto* table = value.get<OptionValue::Table>()) {
    append_table(*table, longest, out);
  } else if (const auto* date = value.get<OptionValue::DateTime>()) {
    out += date->text;
  }
}

std::optional<double> number(const OptionValue& value) {
  if (const auto* integer = value.get<std::int64_t>()) return static_cast<double>(*integer);
  if (const double* real = value.get<double>()) return *real;
  return std::nullopt;
}

bool same_table(const OptionValue::Table& a, const OptionValue::Table& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const OptionEntry& entry) {
           const OptionValue* other = find(b, entry.key);
           return other != nullptr && same_value(entry.value, *other);
         });
}

/// "heads[2]": the entry of the key's list, and so on for further brackets.
const OptionValue* entry_at(const OptionValue::Table& table, std::string_view part) {
  std::size_t bracket = part.find('[');
  const OptionValue* at = find(table, part.substr(0, bracket));
  while (at != nullptr && bracket < part.size()) {
    const auto* array = at->get<OptionValue::Array>();
    std::size_t index = 0;
    std::from_chars(part.data() + bracket + 1, part.data() + part.size(), index);
    if (array == nullptr || index < 1 || index > array->size()) return nullptr;
    at = &(*array)[index - 1];
    bracket = part.find('[', bracket + 1);
  }
  return at;
}

}  // namespace

std::string Place::text() const {
  const std::string name = source ? *source : "study";
  return line > 0 ? fmt::format("{}:{}", name, line) : name;
}

const OptionValue* find(const OptionValue::Table& table, std::string_view key) {
  for (const OptionEntry& entry : table) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const OptionValue* value_at(const OptionValue& root, std::string_view key) {
  const OptionValue* at = &root;
  for (std::size_t begin = 0; at != nullptr && begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    const auto* table = at->get<OptionValue::Table>();
    at = table != nullptr ? entry_at(*table, key.substr(begin, end - begin)) : nullptr;
    begin = end + 1;
  }
  return at;
}

OptionValue& child(OptionValue& parent, std::string_view key, const Place& place) {
  if (parent.get<OptionValue::Table>() == nullptr) parent = {OptionValue::Table{}, place};
  auto& table = *parent.get<OptionValue::Table>();
  for (OptionEntry& entry : table) {
    if (entry.key == key) return entry.value;
  }
  table.push_back({std::string(key), {OptionValue::Table{}, place}});
  return table.back().value;
}

std::string text_of(const OptionValue& value) {
  std::string out;
  append(value, kEndless, out);
  return out;
}

std::string describe(const OptionValue& value) {
  std::string out;
  append(value, kLongestDescription, out);
  return clip(out, kLongestDescription);
}

bool same_value(const OptionValue& a, const OptionValue& b) {
  if (a.data.index() != b.data.index()) {
    const std::optional<double> x = number(a), y = number(b);
    return x && y && *x == *y;
  }
  if (const auto* items = a.get<OptionValue::Array>()) {
    const auto& others = *b.get<OptionValue::Array>();
    return std::equal(items->begin(), items->end(), others.begin(), others.end(), same_value);
  }
  if (const auto* table = a.get<OptionValue::Table>()) {
    return same_table(*table, *b.get<OptionValue::Table>());
  }
  return text_of(a) == text_of(b);
}

}  // namespace headway
