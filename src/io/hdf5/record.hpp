#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/output.hpp"
#include "io/hdf5/record_columns.hpp"
#include "io/hdf5/record_values.hpp"

// Records (headway/core/record.hpp) in HDF5 groups. Members may be numbers of every kind, bool,
// enumerations with words, texts, std::array and std::vector of numbers, vectors of texts, Eigen
// matrices and vectors, Tensor, vectors of matrices or of lists of texts by layer, std::optional of
// all these, float arrays with a name each, records and vectors of records. All under an Hdf5Lock.
namespace headway::io {

/// "<group>/<name>", without a slash at the root.
std::string member_path(const std::string& group, const std::string& name);
/// The object and the attribute that a path names: "history" and "columns" of "history/columns".
std::pair<std::string, std::string> attribute_of(const std::string& path);
/// "history, attribute columns".
std::string attribute_label(const std::string& path);
/// "<path>/layer_<l>", `layer` counted from 0.
std::string layer_path(const std::string& path, std::size_t layer);

inline bool in_columns(FieldLayout layout) {
  return layout == FieldLayout::kColumns || layout == FieldLayout::kLists ||
         layout == FieldLayout::kTable;
}
/// Names of the dimensions of an array of so many dimensions, "" where they are not known: those of
/// form.axes, without the outputs where the array has none; "path_<l>" for "path" where the name of
/// the array begins with layer_<l>, l > 1.
std::string axes_of(const FieldForm& form, std::size_t rank, const std::string& path);
/// Whether an empty array is left out of the file.
inline bool leaves_out(const FieldForm& form) {
  return form.optional || form.layout == FieldLayout::kOutputs ||
         form.layout == FieldLayout::kReadout || form.layout == FieldLayout::kStacked;
}

template <class Record>
void write_record(const std::string& group, const Record& record, FieldSink& out);

/// Writes the fields of a record into a group, which it makes.
class RecordWriter {
 public:
  RecordWriter(FieldSink& out, std::string group) : out_(out), group_(std::move(group)) {
    out_.make_group(group_);
  }

  template <class T>
  void operator()(const std::string& name, const T& value, const char* meaning,
                  const FieldForm& form = {}) {
    if (form.place == FieldPlace::kJson || form.layout == FieldLayout::kKey) return;
    const std::string path = member_path(group_, name);
    if constexpr (IsRecord<T>) {
      write_record(path, value, out_);
    } else if constexpr (IsRecords<T>) {
      if (!form.optional || !value.empty()) write_records(path, value, form);
    } else if constexpr (detail::kIsOptional<T>) {
      if (value) (*this)(name, *value, meaning, form);
    } else if constexpr (detail::kIsScalar<T>) {
      const auto [object, attribute] = attribute_of(path);
      out_.set(object, attribute, detail::stored(value));
    } else if constexpr (!detail::kIsForJson<T>) {
      write_array(path, value, form);
    }
  }

 private:
  template <class T>
  void write_records(const std::string& path, const std::vector<T>& records,
                     const FieldForm& form) {
    if (form.layout == FieldLayout::kByName) {
      for (const T& record : records) write_record(path + "/" + record_key(record), record, out_);
    } else if (in_columns(form.layout)) {
      ColumnWriter columns;
      if (records.empty()) {  // the columns are there, without entries
        const T none{};
        fields(columns, none);
      }
      for (const T& record : records) fields(columns, record);
      columns.write(path, records.size(), form, out_);
    } else {
      out_.make_group(path);
      for (std::size_t i = 0; i < records.size(); ++i) {
        write_record(path + "/" + std::to_string(i), records[i], out_);
      }
    }
  }

  template <class T>
  void write_array(const std::string& path, const T& values, const FieldForm& form) {
    if (values.size() == 0 && leaves_out(form)) return;
    if (form.layout == FieldLayout::kAttribute) {
      if constexpr (detail::kIsNumbers<T>) {
        using Number = typename T::value_type;
        using Kept = std::conditional_t<std::is_floating_point_v<Number>, double, std::int64_t>;
        const auto [object, attribute] = attribute_of(path);
        out_.set(object, attribute, std::vector<Kept>(values.begin(), values.end()));
      }
    } else {
      const auto array = detail::array_of(values, form);
      out_.write(path, array.shape, array.values.data(), axes_of(form, array.shape.size(), path));
    }
  }
  template <detail::IsNamedArray T>
  void write_array(const std::string& path, const std::vector<T>& arrays, const FieldForm&) {
    for (const T& array : arrays) {
      out_.write(member_path(path, array.name), array.shape, array.values.data());
    }
  }
  void write_array(const std::string& path, const detail::Texts& values, const FieldForm& form);
  void write_array(const std::string& path, const Tensor& value, const FieldForm& form);
  void write_array(const std::string& path, const std::vector<MatrixXd>& values,
                   const FieldForm& form);
  void write_array(const std::string& path, const std::vector<detail::Texts>& values,
                   const FieldForm& form);

  FieldSink& out_;
  std::string group_;
};

/// Sizes that a reader holds arrays to; negative, or no layers: any size.
struct RecordShapes {
  Index examples = -1;                 ///< rows of kOutputs
  Index outputs = -1;                  ///< columns of kOutputs, rows and columns of kReadout
  std::vector<Index> layers = {};      ///< rows and columns of the matrices of kLayers
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
      if (has(path)) (*this)(name, value.emplace(), meaning, form);
    } else if constexpr (std::is_enum_v<T>) {
      std::string text(word_of(value));
      get(path, text, form);
      if (!read_word(text, value)) {
        bad_data("{}: is \"{}\"; allowed: {}", attribute_label(path), text, join(all_words<T>()));
      }
    } else if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
      double number = static_cast<double>(value);
      get(path, number, form);
      value = static_cast<T>(number);
    } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, std::uint64_t>) {
      value = static_cast<T>(get_whole(path, value, std::numeric_limits<T>::max(), form));
    } else if constexpr (detail::kIsNumbers<T>) {
      get_numbers(path, value, form);
    } else {
      get(path, value, form);
    }
  }

 private:
  template <class T>
  void read_record(const std::string& group, T& value) const {
    RecordReader nested(file_, group, shapes_);
    fields(nested, value);
  }

  template <class T>
  void read_records(const std::string& path, std::vector<T>& records, const FieldForm& form) const {
    const bool by_name = form.layout == FieldLayout::kByName;
    if (!by_name && !present(path, form)) return;
    records.clear();
    if (in_columns(form.layout)) {
      records = read_columns(file_, path, form.layout, T{});
      return;
    }
    for (const std::string& name : record_groups(path, form)) {
      T& record = records.emplace_back();
      if (by_name) set_record_key(record, name);
      read_record(path + "/" + name, record);
    }
  }

  template <class T>
  void get_numbers(const std::string& path, T& values, const FieldForm& form) const {
    using Number = typename T::value_type;
    using Kept = detail::Stored<Number>;
    const auto take = [&](const auto& found) {
      if constexpr (requires { values.resize(found.size()); }) values.resize(found.size());
      if (values.size() != found.size()) {
        bad_data("{}: holds {} numbers; allowed: {}", path, found.size(), values.size());
      }
      std::transform(found.begin(), found.end(), values.begin(),
                     [](auto number) { return static_cast<Number>(static_cast<Kept>(number)); });
    };
    if (form.layout == FieldLayout::kAttribute) {
      if (const auto found = attribute(path, form)) {
        check_list(path, *found, std::is_integral_v<Kept>, form);
        take(*found);
      }
    } else if (!present(path, form)) {
      return;
    } else if constexpr (std::is_integral_v<Kept>) {
      take(file_.read_integers<Kept>(path));
    } else {
      take(file_.read_array(path).values);
    }
  }

  /// Those that `arrays` names, in its order; all that are there when it is empty.
  template <detail::IsNamedArray T>
  void get(const std::string& path, std::vector<T>& arrays, const FieldForm& /*form*/) const {
    if (arrays.empty()) {
      for (const std::string& name : file_.members(path)) arrays.push_back({name, {}, {}});
    }
    for (T& array : arrays) {
      const std::string at = member_path(path, array.name);
      static_cast<void>(present(at, FieldForm{}));
      const Tensor tensor = file_.read_array(at);
      array.shape = tensor.shape;
      array.values.assign(tensor.values.begin(), tensor.values.end());
    }
  }

  /// Whether it is there; when not, an Error unless optional.
  [[nodiscard]] bool present(const std::string& path, const FieldForm& form) const;
  [[nodiscard]] bool has(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> record_groups(const std::string& path,
                                                       const FieldForm& form) const;
  void get(const std::string& path, double& value, const FieldForm& form) const;
  void get(const std::string& path, std::uint64_t& value, const FieldForm& form) const;
  void get(const std::string& path, std::string& value, const FieldForm& form) const;
  void get(const std::string& path, detail::Texts& values, const FieldForm& form) const;
  void get(const std::string& path, MatrixXd& value, const FieldForm& form) const;
  void get(const std::string& path, VectorXd& value, const FieldForm& form) const;
  void get(const std::string& path, Tensor& value, const FieldForm& form) const;
  void get(const std::string& path, std::vector<MatrixXd>& values, const FieldForm& form) const;
  void get(const std::string& path, std::vector<detail::Texts>& values,
           const FieldForm& form) const;
  [[nodiscard]] std::int64_t get_whole(const std::string& path, std::int64_t value,
                                       std::int64_t largest, const FieldForm& form) const;
  [[nodiscard]] std::optional<std::vector<double>> attribute(const std::string& path,
                                                             const FieldForm& form) const;
  static void check_list(const std::string& path, const std::vector<double>& values, bool whole,
                         const FieldForm& form);
  [[nodiscard]] std::size_t layers(const std::string& path) const;
  [[nodiscard]] MatrixXd matrix(const std::string& path, Index rows, Index columns) const;

  const Hdf5InputFile& file_;
  std::string group_;
  RecordShapes shapes_;
};

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
void write_record(const std::string& group, const Record& record, FieldSink& out) {
  RecordWriter writer(out, group);
  fields(writer, record);
}

}  // namespace headway::io
