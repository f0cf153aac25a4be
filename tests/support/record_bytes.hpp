// Every number of a record as bytes. Two records are equal to the last bit, NaN included, if their
// bytes are.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "headway/core/record.hpp"

namespace headway::testing {

class RecordBytes {
 public:
  template <class T>
  void operator()(const std::string& /*name*/, const T& value, const char* /*meaning*/,
                  const FieldForm& /*form*/ = {}) {
    if constexpr (IsRecord<T>) {
      fields(*this, value);
    } else if constexpr (IsRecords<T>) {
      add(value.size());
      for (const auto& record : value) fields(*this, record);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      add(value);
    } else {
      add_all(value);
    }
  }
  std::string bytes;

 private:
  /// Adds matrices, texts, and lists of them by their contents, not by their addresses.
  template <class T>
  void add_all(const T& value) {
    if constexpr (requires { value.rows(); }) add(value.rows());
    add(value.size());
    for (auto i = 0 * value.size(); i < value.size(); ++i) {
      if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(value.data()[i])>>) {
        add(value.data()[i]);
      } else {
        add_all(value.data()[i]);
      }
    }
  }
  template <class Number>
  void add(Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
};

/// The bytes of each field by its name, those of records inside by "name/their name".
class FieldBytes {
 public:
  template <IsRecord Record>
  explicit FieldBytes(const Record& record) {
    fields(*this, record);
  }
  template <class T>
  void operator()(const std::string& name, const T& value, const char* meaning,
                  const FieldForm& /*form*/ = {}) {
    if constexpr (IsRecord<T>) {
      inside(name, value);
    } else if constexpr (IsRecords<T>) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        inside(name + "/" + std::to_string(i), value[i]);
      }
    } else {
      RecordBytes bytes;
      bytes(name, value, meaning);
      found.emplace_back(above_ + name, bytes.bytes);
    }
  }
  std::vector<std::pair<std::string, std::string>> found;

 private:
  template <class T>
  void inside(const std::string& name, const T& value) {
    const std::string above = std::exchange(above_, above_ + name + "/");
    fields(*this, value);
    above_ = above;
  }
  std::string above_;
};

template <IsRecord Record>
std::string bytes_of(const Record& record) {
  RecordBytes visit;
  fields(visit, record);
  return visit.bytes;
}

}  // namespace headway::testing
