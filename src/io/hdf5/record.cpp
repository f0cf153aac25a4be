#include "io/hdf5/record.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "headway/core/error.hpp"

namespace headway::io {
namespace {

[[noreturn]] void bad(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::kBadData, fmt::format("{}: {}", where, what));
}

std::string attribute_label(const std::string& group, const std::string& name) {
  const auto [object, attribute] = attribute_of(group, name);
  return object == "/" ? fmt::format("root attribute {}", attribute)
                       : fmt::format("{}, attribute {}", object, attribute);
}

std::string lines_of(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "\n"));
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Error unless `value` is a whole number that a double has exactly, from `least` to `largest`.
void require_whole(const std::string& where, double value, std::int64_t least,
                   std::int64_t largest) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  const std::int64_t low = std::max(least, -kExact), high = std::min(largest, kExact);
  if (value >= static_cast<double>(low) && value <= static_cast<double>(high) &&
      value == std::floor(value)) {
    return;
  }
  bad(where, fmt::format("is {}; allowed: an integer from {} to {}", value, low, high));
}

}  // namespace

bool RecordReader::present(const std::string& path, const FieldForm& form) const {
  if (file_.kind(path) != NodeKind::kAbsent) return true;
  if (!form.optional) bad(path, "is missing");
  return false;
}

bool RecordReader::has(const std::string& name) const {
  if (file_.kind(member_path(group_, name)) != NodeKind::kAbsent) return true;
  const auto [object, attribute] = attribute_of(group_, name);
  return file_.kind(object) != NodeKind::kAbsent && file_.has_attribute(object, attribute);
}

std::vector<std::string> RecordReader::record_groups(const std::string& path,
                                                     const FieldForm& form) const {
  std::vector<std::string> names = file_.members(path);
  if (form.layout == FieldLayout::kByName) {
    const auto rank = [&](const std::string& name) {
      return std::find(shapes_.keys.begin(), shapes_.keys.end(), name);
    };
    std::stable_sort(names.begin(), names.end(),
                     [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    return names;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = std::to_string(i);
    const std::string group = member_path(path, names[i]);
    if (file_.kind(group) != NodeKind::kGroup) bad(group, "is missing");
  }
  return names;
}

std::optional<std::vector<double>> RecordReader::attribute(const std::string& name,
                                                           const FieldForm& form) const {
  const auto [object, leaf] = attribute_of(group_, name);
  std::optional<std::vector<double>> values;
  if (object == group_ || object == "/" || file_.kind(object) != NodeKind::kAbsent) {
    values = file_.number_attribute(object, leaf);
  }
  if (!values && !form.old_name.empty()) {
    values = file_.number_attribute(object, std::string(form.old_name));
  }
  if (!values && !form.optional) bad(attribute_label(group_, name), "is missing");
  return values;
}

void RecordReader::get(const std::string& name, double& value, const FieldForm& form) const {
  const auto values = attribute(name, form);
  if (!values) return;
  if (values->size() != 1) bad(attribute_label(group_, name), "allowed: one number");
  value = values->front();
}

std::int64_t RecordReader::get_whole(const std::string& name, std::int64_t value,
                                     std::int64_t largest, const FieldForm& form) const {
  auto number = static_cast<double>(value);
  get(name, number, form);
  require_whole(attribute_label(group_, name), number, form.least, largest);
  return static_cast<std::int64_t>(number);
}

void RecordReader::get(const std::string& name, std::uint64_t& value, const FieldForm& form) const {
  const auto [object, leaf] = attribute_of(group_, name);
  const auto number = file_.unsigned_attribute(object, leaf);
  if (!number && !form.optional) bad(attribute_label(group_, name), "is missing");
  value = number.value_or(value);
}

void RecordReader::get(const std::string& name, std::string& value, const FieldForm& form) const {
  if (form.layout == FieldLayout::kKey) return;  // the name of the group
  const auto [object, leaf] = attribute_of(group_, name);
  auto text = file_.text_attribute(object, leaf);
  if (!text && !form.optional) bad(attribute_label(group_, name), "is missing");
  if (text) value = *std::move(text);
}

void RecordReader::get(const std::string& name, std::vector<std::string>& values,
                       const FieldForm& form) const {
  if (form.layout == FieldLayout::kAttribute) {
    std::string text = lines_of(values);
    get(name, text, form);
    values = split_lines(text);
    return;
  }
  const std::string path = member_path(group_, name);
  if (present(path, form)) values = file_.read_strings(path);
}

/// The data set at `path`, which may leave out a second extent of one (and both, for a scalar).
MatrixXd RecordReader::matrix(const std::string& path, Index rows, Index columns) const {
  if (file_.kind(path) != NodeKind::kDataset) bad(path, "is missing");
  const std::vector<Index> shape = file_.info(path).shape;
  const Index found_rows = shape.empty() ? 1 : shape[0];
  const Index found_columns = shape.size() < 2 ? 1 : shape[1];
  if (shape.size() > 2 || (rows >= 0 && found_rows != rows) ||
      (columns >= 0 && found_columns != columns)) {
    const auto allowed = [](Index n) { return n < 0 ? std::string("n") : std::to_string(n); };
    bad(path, fmt::format("has shape {}; allowed: [{}, {}]", shape_text(shape), allowed(rows),
                          allowed(columns)));
  }
  const Tensor tensor = file_.read_array(path);
  return Eigen::Map<const RowMatrixXd>(tensor.values.data(), found_rows, found_columns);
}

void RecordReader::get(const std::string& name, MatrixXd& value, const FieldForm& form) const {
  const std::string path = member_path(group_, name);
  const bool there = file_.kind(path) != NodeKind::kAbsent;
  if (form.layout == FieldLayout::kOutputs) {
    value = there ? matrix(path, shapes_.examples, shapes_.outputs)
                  : MatrixXd(0, std::max<Index>(shapes_.outputs, 0));
  } else if (form.layout == FieldLayout::kReadout) {
    value = there ? matrix(path, shapes_.outputs, shapes_.outputs) : MatrixXd(0, 0);
  } else if (present(path, form)) {
    value = matrix(path, -1, -1);
  }
}

void RecordReader::get(const std::string& name, VectorXd& value, const FieldForm& form) const {
  const std::string path = member_path(group_, name);
  if (present(path, form)) value = matrix(path, -1, 1).col(0);
}

void RecordReader::get(const std::string& name, Tensor& value, const FieldForm& form) const {
  const std::string path = member_path(group_, name);
  if (!present(path, form)) return;
  value = file_.read_array(path);
  if (form.layout == FieldLayout::kReadout && value.shape.size() == 2) {
    value.shape.insert(value.shape.end(), {1, 1});
  }
}

void RecordReader::get(const std::string& name, std::vector<MatrixXd>& values,
                       const FieldForm& form) const {
  const std::string path = member_path(group_, name);
  values.clear();
  if (file_.kind(path) == NodeKind::kAbsent) return;
  if (form.layout == FieldLayout::kStacked) {
    const Tensor tensor = file_.read_array(path);
    if (tensor.shape.size() != 3) {
      bad(path, fmt::format("has shape {}; allowed: [n, rows, columns]", shape_text(tensor.shape)));
    }
    const Index rows = tensor.shape[1], columns = tensor.shape[2];
    for (Index i = 0; i < tensor.shape[0]; ++i) {
      values.emplace_back(
          Eigen::Map<const RowMatrixXd>(tensor.values.data() + i * rows * columns, rows, columns));
    }
    return;
  }
  const bool known = !shapes_.layers.empty();
  const std::size_t count = known ? shapes_.layers.size() : file_.members(path).size();
  for (std::size_t l = 0; l < count; ++l) {
    const Index size = known ? shapes_.layers[l] : -1;
    values.push_back(matrix(layer_path(path, l), size, size));
    if (!values.back().allFinite()) {
      bad(layer_path(path, l), "holds numbers that are not finite");
    }
  }
}

void RecordReader::get(const std::string& name, std::vector<std::vector<std::string>>& values,
                       const FieldForm& /*form*/) const {
  const std::string path = member_path(group_, name);
  const bool known = !shapes_.layers.empty();
  values.assign(known ? shapes_.layers.size() : file_.members(path).size(), {});
  for (std::size_t l = 0; l < values.size(); ++l) {
    const std::string layer = layer_path(path, l);
    if (file_.kind(layer) != NodeKind::kAbsent) values[l] = file_.read_strings(layer);
  }
}

bool RecordReader::get_stored(const std::string& name, std::vector<double>& values,
                              const FieldForm& form) const {
  if (form.layout == FieldLayout::kAttribute) {
    auto found = attribute(name, form);
    if (found) values = *std::move(found);
    return found.has_value();
  }
  const std::string path = member_path(group_, name);
  if (!present(path, form)) return false;
  values = file_.read_array(path).values;
  return true;
}

bool RecordReader::get_stored(const std::string& name, std::vector<std::int64_t>& values,
                              const FieldForm& form) const {
  if (form.layout != FieldLayout::kAttribute) {
    const std::string path = member_path(group_, name);
    if (!present(path, form)) return false;
    values = file_.read_integers<std::int64_t>(path);
    return true;
  }
  const auto found = attribute(name, form);
  if (!found) return false;
  for (const double value : *found) {
    if (form.least == 1 && !(value >= 1.0 && value <= 1e15 && value == std::floor(value))) {
      bad(attribute_label(group_, name),
          fmt::format("holds {}; allowed: positive integers", value));
    }
    require_whole(attribute_label(group_, name), value, form.least,
                  std::numeric_limits<std::int64_t>::max());
    values.push_back(static_cast<std::int64_t>(value));
  }
  return true;
}

bool RecordReader::get_stored(const std::string& name, std::vector<std::uint64_t>& values,
                              const FieldForm& form) const {
  if (form.layout == FieldLayout::kAttribute) {
    std::vector<std::int64_t> found;
    if (!get_stored(name, found, form)) return false;
    values.assign(found.begin(), found.end());
    return true;
  }
  const std::string path = member_path(group_, name);
  if (!present(path, form)) return false;
  values = file_.read_integers<std::uint64_t>(path);
  return true;
}

void RecordReader::refuse_count(const std::string& name, std::size_t found,
                                std::size_t wanted) const {
  bad(member_path(group_, name), fmt::format("holds {} numbers; allowed: {}", found, wanted));
}

void RecordReader::refuse_word(const std::string& name, const std::string& word,
                               const std::string& known) const {
  bad(attribute_label(group_, name), fmt::format("is \"{}\"; allowed: {}", word, known));
}

ColumnReader::ColumnReader(const Hdf5InputFile& file, const std::string& path, FieldLayout layout)
    : path_(path), layout_(layout), reader_(file, path) {
  if (layout == FieldLayout::kTable) table_ = file.read_array(path);
}

void ColumnReader::add(const std::string& name, Column column) {
  const std::size_t count = std::visit([](const auto& values) { return values.size(); }, column);
  if (!columns_.empty() && count != count_ && layout_ != FieldLayout::kTable) {
    bad(member_path(path_, name), fmt::format("has {} entries; allowed: {}", count, count_));
  }
  count_ = count;
  columns_.emplace(name, std::move(column));
}

std::vector<double> ColumnReader::table_column() const {
  std::vector<double> values;
  const std::size_t column = columns_.size();
  if (table_.shape.size() != 2 || column >= static_cast<std::size_t>(table_.shape[1]))
    return values;
  const auto width = static_cast<std::size_t>(table_.shape[1]);
  for (std::size_t i = column; i < table_.values.size(); i += width) {
    values.push_back(table_.values[i]);
  }
  return values;
}

std::size_t ColumnReader::rows() const {
  const std::size_t width = columns_.size();
  if (layout_ == FieldLayout::kTable &&
      (table_.shape.size() != 2 || table_.shape[1] != static_cast<Index>(width))) {
    bad(path_, fmt::format("has shape {}; allowed: [n, {}]", shape_text(table_.shape), width));
  }
  return count_;
}

void ColumnReader::refuse(const std::string& name, const std::string& value) const {
  bad(layout_ == FieldLayout::kTable ? path_ : member_path(path_, name),
      fmt::format("holds {} where {} is expected", value, name));
}

}  // namespace headway::io
