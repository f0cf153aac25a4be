#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/core/types.hpp"
#include "headway/studies/training.hpp"

namespace headway::io {

using Json = nlohmann::ordered_json;

/// Null where it is undefined or not finite.
inline Json json_value(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json json_value(const VectorXd& values);
Json json_value(const MatrixXd& values);
/// An object; a TOML value is JSON where both write it alike, else its text.
Json json_value(const std::vector<studies::Setting>& settings);

template <class T>
requires(std::is_integral_v<T> || std::is_same_v<T, std::string>) Json json_value(const T& value) {
  return value;
}
template <class T>
requires requires(const T& value) { json_value(value); }
Json json_value(const std::vector<T>& values) {
  Json out = Json::array();
  for (const T& value : values) out.push_back(json_value(value));
  return out;
}

/// Writes the fields of a record into a JSON object. A slash in a name leads into an object inside.
class JsonWriter {
 public:
  explicit JsonWriter(Json& out) : out_(out) {}

  template <class T>
  void operator()(const std::string& name, const T& value, const char* /*meaning*/,
                  const FieldForm& form = {}) {
    if (form.place == FieldPlace::kFile || form.layout == FieldLayout::kKey) return;
    const std::string_view key = form.json.empty() ? std::string_view(name) : form.json;
    if constexpr (IsRecord<T>) {
      if (form.layout == FieldLayout::kMerged) return fields(*this, value);
      at(key) = object_of(value);
    } else if constexpr (IsRecords<T>) {
      write_records(key, value, form);
    } else if constexpr (std::is_same_v<T, MatrixXd>) {
      const bool scalar = form.layout == FieldLayout::kReadout && value.size() < 2;
      at(key) = !scalar            ? json_value(value)
                : value.size() > 0 ? json_value(value(0, 0))
                                   : Json(nullptr);
    } else if constexpr (std::is_enum_v<T>) {
      at(key) = word_of(value);
    } else if constexpr (requires { json_value(value); }) {  // others are only in files
      at(key) = json_value(value);
    }
  }

 private:
  template <class T>
  static Json object_of(const T& record) {
    Json out = Json::object();
    JsonWriter nested(out);
    fields(nested, record);
    return out;
  }

  Json& at(std::string_view key) {
    Json* place = &out_;
    for (std::size_t slash = key.find('/'); slash != std::string_view::npos;
         slash = key.find('/')) {
      place = &(*place)[std::string(key.substr(0, slash))];
      key.remove_prefix(slash + 1);
    }
    return (*place)[std::string(key)];
  }

  template <class T>
  void write_records(std::string_view key, const std::vector<T>& records, const FieldForm& form) {
    if (form.layout == FieldLayout::kByName) {
      if (form.optional && records.empty()) return;
      Json& object = at(key) = Json::object();
      for (const T& record : records) object[record_key(record)] = object_of(record);
    } else if (form.layout == FieldLayout::kLists) {
      for (const T& record : records) {
        const Json one = object_of(record);
        for (const auto& [name, value] : one.items()) at(key)[name].push_back(value);
      }
    } else {
      Json& list = at(key) = Json::array();
      for (const T& record : records) list.push_back(object_of(record));
    }
  }

  Json& out_;
};

}  // namespace headway::io
