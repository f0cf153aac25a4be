#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/core/types.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/output.hpp"
#include "io/hdf5/record_columns.hpp"

// Records (headway/core/record.hpp) in HDF5 groups. Members may be numbers of every kind, bool,
// enumerations with words, texts, std::array and std::vector of numbers, vectors of texts, Eigen
// matrices and vectors, Tensor, vectors of matrices or of lists of texts by layer, std::optional of
// all these, records and vectors of records. All under an Hdf5Lock.
namespace headway::io {

/// "<group>/<name>", without a slash at the root.
std::string member_path(const std::string& group, const std::string& name);
/// The object and the attribute of a field: "history/columns" of group g is the attribute columns
/// of g/history.
std::pair<std::string, std::string> attribute_of(const std::string& group, const std::string& name);
/// "<path>/layer_<l>", `layer` counted from 0.
std::string layer_path(const std::string& path, std::size_t layer);

/// Writes the fields of a record into a group, which it makes.
class RecordWriter {
 public:
  RecordWriter(Hdf5OutputFile& out, std::string group);

  template <class T>
  void operator()(const std::string& name, const T& value, const char* meaning,
                  const FieldForm& form = {}) {
    if (form.place == FieldPlace::kJson || form.layout == FieldLayout::kKey) return;
    if constexpr (IsRecord<T>) {
      write_record(member_path(group_, name), value);
    } else if constexpr (IsRecords<T>) {
      if (form.optional && value.empty()) return;
      write_records(member_path(group_, name), value, form.layout);
    } else if constexpr (detail::kIsOptional<T>) {
      if (value) (*this)(name, *value, meaning, form);
    } else if constexpr (std::is_arithmetic_v<T>) {
      put(name, static_cast<detail::Stored<T>>(value));
    } else if constexpr (std::is_enum_v<T>) {
      put(name, std::string(word_of(value)));
    } else if constexpr (detail::kIsNumbers<T>) {
      put_numbers(name, value, form);
    } else {
      put(name, value, form);
    }
  }

 private:
  template <class T>
  void write_record(const std::string& group, const T& value) {
    RecordWriter nested(out_, group);
    fields(nested, value);
  }

  template <class T>
  void write_records(const std::string& path, const std::vector<T>& records, FieldLayout layout) {
    if (layout == FieldLayout::kByName) {
      for (const T& record : records) write_record(path + "/" + record_key(record), record);
    } else if (layout == FieldLayout::kColumns || layout == FieldLayout::kLists ||
               layout == FieldLayout::kTable) {
      ColumnWriter columns;
      if (records.empty()) {  // the columns are there, without entries
        const T none{};
        fields(columns, none);
      }
      for (const T& record : records) fields(columns, record);
      put_columns(path, columns, records.size(), layout);
    } else {
      out_.make_group(path);
      for (std::size_t i = 0; i < records.size(); ++i) {
        write_record(path + "/" + std::to_string(i), records[i]);
      }
    }
  }

  template <class T>
  void put_numbers(const std::string& name, const T& values, const FieldForm& form) {
    using Number = typename T::value_type;
    if (form.optional && values.empty()) return;
    if (form.layout == FieldLayout::kAttribute) {
      using Kept = std::conditional_t<std::is_floating_point_v<Number>, double, std::int64_t>;
      put_attribute(name, std::vector<Kept>(values.begin(), values.end()));
    } else if constexpr (std::is_same_v<Number, float> || std::is_same_v<Number, std::uint8_t>) {
      out_.write(member_path(group_, name), {static_cast<Index>(values.size())}, values.data());
    } else {
      const std::vector<detail::Stored<Number>> stored(values.begin(), values.end());
      out_.write(member_path(group_, name), {static_cast<Index>(stored.size())}, stored.data());
    }
  }

  /// Rows of one array, short ones padded with NaN or -1.
  template <class Number>
  void put(const std::string& name, const std::vector<std::vector<Number>>& rows,
           const FieldForm& form) {
    if (form.optional && rows.empty()) return;
    std::size_t longest = 0;
    for (const std::vector<Number>& row : rows) longest = std::max(longest, row.size());
    using Kept = detail::Stored<Number>;
    std::vector<Kept> all(rows.size() * longest, std::is_integral_v<Kept>
                                                     ? static_cast<Kept>(-1)
                                                     : std::numeric_limits<Kept>::quiet_NaN());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy(rows[i].begin(), rows[i].end(), all.data() + i * longest);
    }
    out_.write(member_path(group_, name),
               {static_cast<Index>(rows.size()), static_cast<Index>(longest)}, all.data());
  }
  void put(const std::string& name, double value);
  void put(const std::string& name, std::int64_t value);
  void put(const std::string& name, std::uint64_t value);
  void put(const std::string& name, const std::string& value, const FieldForm& form = {});
  void put(const std::string& name, const std::vector<std::string>& values, const FieldForm& form);
  void put(const std::string& name, const MatrixXd& value, const FieldForm& form);
  void put(const std::string& name, const VectorXd& value, const FieldForm& form);
  void put(const std::string& name, const Tensor& value, const FieldForm& form);
  void put(const std::string& name, const std::vector<MatrixXd>& values, const FieldForm& form);
  void put(const std::string& name, const std::vector<std::vector<std::string>>& values,
           const FieldForm& form);
  void put_attribute(const std::string& name, const std::vector<double>& values);
  void put_attribute(const std::string& name, const std::vector<std::int64_t>& values);
  void put_columns(const std::string& path, const ColumnWriter& columns, std::size_t count,
                   FieldLayout layout);

  Hdf5OutputFile& out_;
  std::string group_;
};

/// Sizes that a reader holds arrays to; negative, or no layers: any size.
struct RecordShapes {
  Index examples = -1;                 ///< rows of kOutputs
  Index outputs = -1;                  ///< columns of kOutputs, rows and columns of kReadout
  std::vector<Index> layers = {};      /// rows and columns of the matrices of kLayers
  std::vector<std::string> keys = {};  ///< order of the records of kByName; others stand behind
};

/// Reads the fields of a record from a group. What is missing (unless optional) or malformed is an
/// Error{kBadData} that names place, field, value and what is allowed.
class RecordReader {
 public:
  RecordReader(const Hdf5InputFile& file, std::string group, RecordShapes shapes = {})
      : file_(file), group_(std::move(group)), shapes_(std::move(shapes)) {}

  template <class T>
  void operator()(const std::string& name, T& value, const char* meaning,
                  const FieldForm& form = {}) {
    if (form.place == FieldPlace::kJson) return;
    const std::string path = member_path(group_, name);
    if constexpr (std::is_const_v<T>) {  // follows from other members
    } else if constexpr (IsRecord<T>) {
      if (present(path, form)) read_record(path, value);
    } else if constexpr (IsRecords<T>) {
      read_records(path, value, form);
    } else if constexpr (detail::kIsOptional<T>) {
      if (!has(name)) return;
      (*this)(name, value.emplace(), meaning, form);
    } else if constexpr (std::is_enum_v<T>) {
      get_word(name, value, form);
    } else if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
      double number = static_cast<double>(value);
      get(name, number, form);
      value = static_cast<T>(number);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      get(name, value, form);
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = static_cast<T>(get_whole(name, value, std::numeric_limits<T>::max(), form));
    } else if constexpr (detail::kIsNumbers<T>) {
      get_numbers(name, value, form);
    } else {
      get(name, value, form);
    }
  }

 private:
  template <class T>
  void read_record(const std::string& group, T& value) const {
    RecordReader nested(file_, group, shapes_);
    fields(nested, value);
  }

  template <class T>
  void read_records(const std::string& path, std::vector<T>& records, const FieldForm& form) const;

  template <class T>
  void get_numbers(const std::string& name, T& values, const FieldForm& form) const {
    using Number = typename T::value_type;
    std::vector<detail::Stored<Number>> stored;
    if (!get_stored(name, stored, form)) return;
    if constexpr (requires { values.resize(stored.size()); }) values.resize(stored.size());
    if (values.size() != stored.size()) refuse_count(name, stored.size(), values.size());
    for (std::size_t i = 0; i < stored.size(); ++i) values[i] = static_cast<Number>(stored[i]);
  }

  template <class E>
  void get_word(const std::string& name, E& value, const FieldForm& form) const {
    std::string text(word_of(value));
    get(name, text, form);
    if (read_word(text, value)) return;
    std::string known;
    for (const Word<E>& one : words_of(E{}))
      known.append(known.empty() ? "" : ", ").append(one.text);
    refuse_word(name, text, known);
  }

  /// Whether it is there; when not, an Error unless optional.
  [[nodiscard]] bool present(const std::string& path, const FieldForm& form) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> record_groups(const std::string& path,
                                                       const FieldForm& form) const;
  void get(const std::string& name, double& value, const FieldForm& form) const;
  void get(const std::string& name, std::uint64_t& value, const FieldForm& form) const;
  void get(const std::string& name, std::string& value, const FieldForm& form) const;
  void get(const std::string& name, std::vector<std::string>& values, const FieldForm& form) const;
  void get(const std::string& name, MatrixXd& value, const FieldForm& form) const;
  void get(const std::string& name, VectorXd& value, const FieldForm& form) const;
  void get(const std::string& name, Tensor& value, const FieldForm& form) const;
  void get(const std::string& name, std::vector<MatrixXd>& values, const FieldForm& form) const;
  void get(const std::string& name, std::vector<std::vector<std::string>>& values,
           const FieldForm& form) const;
  [[nodiscard]] std::int64_t get_whole(const std::string& name, std::int64_t value,
                                       std::int64_t largest, const FieldForm& form) const;
  bool get_stored(const std::string& name, std::vector<double>& values,
                  const FieldForm& form) const;
  bool get_stored(const std::string& name, std::vector<std::int64_t>& values,
                  const FieldForm& form) const;
  bool get_stored(const std::string& name, std::vector<std::uint64_t>& values,
                  const FieldForm& form) const;
  [[nodiscard]] std::optional<std::vector<double>> attribute(const std::string& name,
                                                             const FieldForm& form) const;
  [[nodiscard]] MatrixXd matrix(const std::string& path, Index rows, Index columns) const;
  [[noreturn]] void refuse_count(const std::string& name, std::size_t found,
                                 std::size_t wanted) const;
  [[noreturn]] void refuse_word(const std::string& name, const std::string& word,
                                const std::string& known) const;

  const Hdf5InputFile& file_;
  std::string group_;
  RecordShapes shapes_;
};

/// Reads the fields of one record after another from kColumns or kTable: the first record that
/// visits it makes it load the columns, the others are filled row by row.
class ColumnReader {
 public:
  ColumnReader(const Hdf5InputFile& file, const std::string& path, FieldLayout layout);

  /// Ends the loading; the number of records that are there.
  std::size_t rows() const;
  void set_row(std::size_t row) { row_ = row; }

  template <class T>
  void operator()(const std::string& name, T& value, const char* meaning,
                  const FieldForm& form = {}) {
    if (form.place == FieldPlace::kJson) return;
    if constexpr (detail::kIsCell<T>) {
      cell(name, value, meaning, form);
    } else {
      detail::refuse_column(name);
    }
  }

 private:
  static constexpr std::size_t kLoading = static_cast<std::size_t>(-1);
  static constexpr double kLargestWhole = 0x1p53;

  template <class T>
  void cell(const std::string& name, T& value, const char* meaning, const FieldForm& form) {
    using Kept = std::conditional_t<std::is_arithmetic_v<T>, detail::Stored<T>, std::string>;
    if (row_ == kLoading) return load<Kept>(name, meaning, form);
    const Kept& kept = std::get<std::vector<Kept>>(columns_.at(name))[row_];
    if constexpr (std::is_enum_v<T>) {
      if (!read_word(kept, value)) refuse(name, kept);
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!std::in_range<T>(kept)) refuse(name, std::to_string(kept));
      value = static_cast<T>(kept);
    } else {
      value = static_cast<T>(kept);
    }
  }

  template <class Kept>
  void load(const std::string& name, const char* meaning, const FieldForm& form) {
    std::vector<Kept> values;
    if (layout_ != FieldLayout::kTable) {
      reader_(name, values, meaning, form);
    } else if constexpr (std::is_arithmetic_v<Kept>) {
      for (const double number : table_column()) {
        if (std::is_integral_v<Kept> && !(std::abs(number) <= kLargestWhole)) {
          refuse(name, std::to_string(number));
        }
        values.push_back(static_cast<Kept>(number));
      }
    }
    add(name, std::move(values));
  }
  void add(const std::string& name, Column column);
  [[nodiscard]] std::vector<double> table_column() const;
  [[noreturn]] void refuse(const std::string& name, const std::string& value) const;

  std::string path_;
  FieldLayout layout_;
  RecordReader reader_;
  Tensor table_;
  std::map<std::string, Column> columns_;
  std::size_t count_ = 0, row_ = kLoading;
};

template <class T>
void RecordReader::read_records(const std::string& path, std::vector<T>& records,
                                const FieldForm& form) const {
  if (form.layout != FieldLayout::kByName && !present(path, form)) return;
  records.clear();
  if (form.layout == FieldLayout::kColumns || form.layout == FieldLayout::kLists ||
      form.layout == FieldLayout::kTable) {
    ColumnReader columns(file_, path, form.layout);
    T none{};
    fields(columns, none);
    const std::size_t rows = columns.rows();
    for (std::size_t i = 0; i < rows; ++i) {
      columns.set_row(i);
      fields(columns, records.emplace_back());
    }
    return;
  }
  for (const std::string& name : record_groups(path, form)) {
    T& record = records.emplace_back();
    if (form.layout == FieldLayout::kByName) set_record_key(record, name);
    read_record(path + "/" + name, record);
  }
}

/// One record from `group`.
template <class Record>
Record read_record(const Hdf5InputFile& file, const std::string& group, RecordShapes shapes = {}) {
  Record record;
  RecordReader reader(file, group, std::move(shapes));
  fields(reader, record);
  return record;
}

/// One record into `group`.
template <class Record>
void write_record(const std::string& group, const Record& record, Hdf5OutputFile& out) {
  RecordWriter writer(out, group);
  fields(writer, record);
}

}  // namespace headway::io
