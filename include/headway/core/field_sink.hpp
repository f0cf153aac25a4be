#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "headway/types.hpp"

namespace headway {

/// Receives the fields of a record, laid out as in a result file (src/io/README.md): groups, arrays
/// and attributes by their paths. Hdf5OutputFile writes them to a file; another sink keeps them in
/// memory.
class FieldSink {
 public:
  FieldSink() = default;
  FieldSink(const FieldSink&) = delete;
  FieldSink& operator=(const FieldSink&) = delete;
  virtual ~FieldSink() = default;

  enum class NumberKind : std::uint8_t { kFloat64, kFloat32, kInt64, kUint64, kUint8 };
  /// Row-major numbers, as many as `shape` says; shape {} is a scalar. `axes`: names of the
  /// dimensions, slowest first, with a blank between them; "" where they have none.
  struct Elements {
    std::vector<Index> shape;
    NumberKind kind;
    const void* values;
    std::string_view axes = {};
  };

  virtual void make_group(const std::string& path) = 0;
  void write_strings(const std::string& path, const std::vector<std::string>& values,
                     std::string_view axes = {}) {
    write_texts(path, values, axes);
  }
  /// An attribute of an object: one text.
  virtual void set(const std::string& object, const std::string& name,
                   const std::string& value) = 0;

  template <class Number>
  void write(const std::string& path, const std::vector<Index>& shape, const Number* values,
             std::string_view axes = {}) {
    write_dataset(path, {shape, kind_of<Number>(), values, axes});
  }
  /// An attribute of an object: one number, or a list of them.
  template <class Number>
  requires(std::is_arithmetic_v<Number>) void set(const std::string& object,
                                                  const std::string& name, Number value) {
    write_attribute(object, name, {{}, kind_of<Number>(), &value});
  }
  template <class Number>
  void set(const std::string& object, const std::string& name, const std::vector<Number>& values) {
    write_attribute(object, name,
                    {{static_cast<Index>(values.size())}, kind_of<Number>(), values.data()});
  }

 private:
  virtual void write_texts(const std::string& path, const std::vector<std::string>& values,
                           std::string_view axes) = 0;
  virtual void write_dataset(const std::string& path, const Elements& elements) = 0;
  virtual void write_attribute(const std::string& object, const std::string& name,
                               const Elements& elements) = 0;

  template <class Number>
  static constexpr NumberKind kind_of() {
    constexpr bool kEight = sizeof(Number) == 8;
    if constexpr (std::is_floating_point_v<Number>) {
      return kEight ? NumberKind::kFloat64 : NumberKind::kFloat32;
    } else {
      static_assert(kEight || std::is_same_v<Number, std::uint8_t>);
      if (!kEight) return NumberKind::kUint8;
      return std::is_signed_v<Number> ? NumberKind::kInt64 : NumberKind::kUint64;
    }
  }
};

}  // namespace headway
