#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/fail.hpp"
#include "headway/core/field_sink.hpp"
#include "io/hdf5/record_values.hpp"

// Records of one kind as columns: arrays <path>/<field>, or one table of numbers.
namespace headway::io {

class Hdf5InputFile;

/// One array of what a column of records holds.
using Column = std::variant<std::vector<double>, std::vector<std::int64_t>,
                            std::vector<std::uint64_t>, std::vector<std::string>>;

/// Gathers the fields of records of one kind, column by column, each with as many entries as there
/// are records.
class ColumnWriter {
 public:
  template <class T>
  void operator()(const std::string& name, const T& value, const char* /*meaning*/,
                  const FieldForm& form = {}) {
    if (form.place == FieldPlace::kJson) return;
    if constexpr (detail::kIsScalar<T>) {
      using Kept = std::vector<detail::Stored<T>>;
      const auto at = std::find_if(columns_.begin(), columns_.end(),
                                   [&name](const auto& column) { return column.first == name; });
      auto& column = at == columns_.end() ? columns_.emplace_back(name, Kept{}) : *at;
      std::get<Kept>(column.second).push_back(detail::stored(value));
    } else {
      fail(ErrorKind::kInternal, "{}: a column holds numbers, words or texts", name);
    }
  }
  [[nodiscard]] std::size_t size() const { return columns_.size(); }
  /// The first `count` entries of each column. kTable: numbers alone, as one array whose attribute
  /// `columns` names them. form.axes: the dimension of the records.
  void write(const std::string& path, std::size_t count, const FieldForm& form,
             FieldSink& out) const;

 private:
  std::vector<std::pair<std::string, Column>> columns_;
};

/// Reads the fields of one record after another: the first record that visits it makes it load the
/// columns, the others are filled row by row. A table's columns go by the names in its attribute
/// `columns`, without one by their order.
class ColumnReader {
 public:
  ColumnReader(const Hdf5InputFile& file, const std::string& path, FieldLayout layout);

  /// Ends the loading; the number of records that are there.
  std::size_t rows() const;
  void set_row(std::size_t row) { row_ = row; }

  template <class T>
  void operator()(const std::string& name, T& value, const char* /*meaning*/,
                  const FieldForm& form = {}) {
    if (form.place == FieldPlace::kJson) return;
    if constexpr (detail::kIsScalar<T>) {
      using Kept = detail::Stored<T>;
      if (row_ == kLoading) return load(name, std::vector<Kept>{}, form);
      const Kept& kept = std::get<std::vector<Kept>>(columns_.at(name))[row_];
      if constexpr (std::is_enum_v<T>) {
        if (!read_word(kept, value)) refuse(name, kept);
      } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        if (!std::in_range<T>(kept)) refuse(name, std::to_string(kept));
        value = static_cast<T>(kept);
      } else {
        value = static_cast<T>(kept);
      }
    } else {
      fail(ErrorKind::kInternal, "{}: a column holds numbers, words or texts", name);
    }
  }

 private:
  static constexpr std::size_t kLoading = static_cast<std::size_t>(-1);

  /// `column`: empty, of the type that is wanted.
  void load(const std::string& name, Column column, const FieldForm& form);
  [[noreturn]] void refuse(const std::string& name, const std::string& value) const;

  const Hdf5InputFile& file_;
  std::string path_;
  FieldLayout layout_;
  Tensor table_;
  detail::Texts table_names_;
  std::map<std::string, Column> columns_;
  std::size_t count_ = 0, row_ = kLoading;
};

/// The records that stand in columns at `path`, each at first a copy of `first`.
template <class T>
std::vector<T> read_columns(const Hdf5InputFile& file, const std::string& path, FieldLayout layout,
                            T first) {
  ColumnReader columns(file, path, layout);
  fields(columns, first);
  std::vector<T> records(columns.rows(), first);
  for (std::size_t i = 0; i < records.size(); ++i) {
    columns.set_row(i);
    fields(columns, records[i]);
  }
  return records;
}

}  // namespace headway::io
