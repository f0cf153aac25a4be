#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/types.hpp"

namespace headway {

/// A field of a record, as list_fields() finds it.
struct ListedField {
  std::string name;  ///< in the file, from the record's group on; "" for one that only JSON has
  std::string json;  ///< in JSON, "" for one that only the file has
  std::string kind;  ///< "attribute", "array"
  std::string meaning;
  std::string type;  ///< of its numbers: "float", "int", "bool", "str"
  std::string axes;  ///< of an array (FieldForm::axes)
};

/// Lists all fields that a record may have. It visits one element for a vector of records.
class FieldLister {
 public:
  static constexpr bool kListsEverything = true;

  template <class T>
  void operator()(const std::string& name, const T& value, const char* meaning,
                  const FieldForm& form = {}) {
    if (form.layout == FieldLayout::kKey) return;
    const std::string json = form.json.empty() ? name : std::string(form.json);
    if constexpr (IsRecord<T>) {
      nested(name + "/", json + "/", value);
    } else if constexpr (IsRecords<T>) {
      const typename T::value_type one{};
      if (form.layout == FieldLayout::kTable) {
        add({name, "", "array", std::string(meaning) + ": " + columns_of(one), "float", {}}, form);
        return;
      }
      const std::string place = form.layout == FieldLayout::kByName  ? "/<name>/"
                                : form.layout == FieldLayout::kPlain ? "/<i>/"
                                                                     : "/";
      const std::size_t first = listed_.size();
      nested(name.empty() ? "" : name + place, form.place == FieldPlace::kFile ? "" : json + "/",
             one);
      for (std::size_t i = first; place == "/" && i < listed_.size(); ++i) {
        listed_[i].kind = "array";  // a column
        listed_[i].axes = form.axes;
      }
    } else {
      constexpr bool kScalar =
          std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;
      const bool attribute = kScalar || form.layout == FieldLayout::kAttribute;
      const bool layers = form.layout == FieldLayout::kLayers;
      add({name + (layers ? "/layer_<l>" : ""),
           json,
           attribute ? "attribute" : "array",
           meaning,
           type_of<T>(),
           {}},
          form);
    }
  }

  [[nodiscard]] const std::vector<ListedField>& listed() const { return listed_; }

 private:
  template <class T>
  static std::string type_of() {
    if constexpr (std::is_same_v<T, bool>) return "bool";
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, std::string>) return "str";
    if constexpr (std::is_integral_v<T>) return "int";
    if constexpr (std::is_floating_point_v<T> || requires(const T& m) { m.rows(); }) return "float";
    if constexpr (requires { typename T::value_type; }) return type_of<typename T::value_type>();
    return "float";  // a tensor
  }
  template <class T>
  void nested(const std::string& name, const std::string& json, const T& record) {
    FieldLister inner;
    fields(inner, record);
    for (ListedField field : inner.listed_) {
      if (!field.name.empty()) field.name = name + field.name;
      field.json = json.empty() || field.json.empty() ? "" : json + field.json;
      listed_.push_back(std::move(field));
    }
  }
  template <class T>
  static std::string columns_of(const T& record) {
    FieldLister inner;
    fields(inner, record);
    std::string out;
    for (const ListedField& field : inner.listed_) {
      out += (out.empty() ? "" : ", ") + field.name + " (" + field.meaning + ")";
    }
    return out;
  }
  void add(ListedField field, const FieldForm& form) {
    if (form.place == FieldPlace::kFile) field.json.clear();
    if (form.place == FieldPlace::kJson) field.name.clear();
    field.axes = form.axes;
    listed_.push_back(std::move(field));
  }

  std::vector<ListedField> listed_;
};

/// All fields that a record of this kind may have.
template <class Record>
std::vector<ListedField> list_fields(const Record& record) {
  FieldLister visit;
  fields(visit, record);
  return visit.listed();
}

}  // namespace headway
