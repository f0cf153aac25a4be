#include "io/hdf5/record.hpp"

#include <algorithm>
#include <cmath>

#include "headway/core/text.hpp"

namespace headway::io {
namespace {

constexpr double kExact = 0x1p53;  // a double has all whole numbers up to here exactly

/// Error unless `value` is a whole number that a double has exactly, from `least` to `largest`.
void require_whole(const std::string& path, double value, std::int64_t least,
                   std::int64_t largest) {
  const double low = std::max(static_cast<double>(least), -kExact);
  const double high = std::min(static_cast<double>(largest), kExact);
  if (value >= low && value <= high && value == std::floor(value)) return;
  bad_data("{}: is {}; allowed: an integer from {} to {}", attribute_label(path), value,
           static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
}

}  // namespace

std::string attribute_label(const std::string& path) {
  const auto [object, attribute] = attribute_of(path);
  return attribute_label(object, attribute);
}

bool RecordReader::present(const std::string& path, const FieldForm& form) const {
  if (file_.kind(path) != NodeKind::kAbsent) return true;
  if (!form.optional) bad_data("{}: is missing", path);
  return false;
}

bool RecordReader::has(const std::string& path) const {
  if (file_.kind(path) != NodeKind::kAbsent) return true;
  const auto [object, attribute] = attribute_of(path);
  return file_.kind(object) != NodeKind::kAbsent && file_.has_attribute(object, attribute);
}

std::vector<std::string> RecordReader::record_groups(const std::string& path,
                                                     const FieldForm& form) const {
  std::vector<std::string> names = file_.members(path);
  if (form.layout == FieldLayout::kByName) {
    const auto rank = [&](const std::string& name) {
      return std::find(shapes_.keys.begin(), shapes_.keys.end(), name);
    };
    std::ranges::stable_sort(names, {}, rank);
    return names;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = std::to_string(i);
    const std::string group = member_path(path, names[i]);
    if (file_.kind(group) != NodeKind::kGroup) bad_data("{}: is missing", group);
  }
  return names;
}

std::optional<std::vector<double>> RecordReader::attribute(const std::string& path,
                                                           const FieldForm& form) const {
  const auto [object, name] = attribute_of(path);
  std::optional<std::vector<double>> values;
  if (object == group_ || object == "/" || file_.kind(object) != NodeKind::kAbsent) {
    values = file_.number_attribute(object, name);
  }
  if (!values && !form.old_name.empty()) {
    values = file_.number_attribute(object, std::string(form.old_name));
  }
  if (!values && !form.optional) bad_data("{}: is missing", attribute_label(path));
  return values;
}

void RecordReader::get(const std::string& path, double& value, const FieldForm& form) const {
  const auto values = attribute(path, form);
  if (!values) return;
  if (values->size() != 1) bad_data("{}: allowed: one number", attribute_label(path));
  value = values->front();
}

std::int64_t RecordReader::get_whole(const std::string& path, std::int64_t value,
                                     std::int64_t largest, const FieldForm& form) const {
  auto number = static_cast<double>(value);
  get(path, number, form);
  require_whole(path, number, form.least, largest);
  return static_cast<std::int64_t>(number);
}

void RecordReader::get(const std::string& path, std::uint64_t& value, const FieldForm& form) const {
  const auto [object, name] = attribute_of(path);
  const auto number = file_.unsigned_attribute(object, name);
  if (!number && !form.optional) bad_data("{}: is missing", attribute_label(path));
  value = number.value_or(value);
}

void RecordReader::get(const std::string& path, std::string& value, const FieldForm& form) const {
  if (form.layout == FieldLayout::kKey) return;  // the name of the group
  const auto [object, name] = attribute_of(path);
  auto text = file_.text_attribute(object, name);
  if (!text && !form.optional) bad_data("{}: is missing", attribute_label(path));
  if (text) value = *std::move(text);
}

void RecordReader::get(const std::string& path, detail::Texts& values,
                       const FieldForm& form) const {
  if (form.layout == FieldLayout::kAttribute) {
    std::string text = join(values, "\n");
    get(path, text, form);
    values = split(text, '\n');
  } else if (present(path, form)) {
    values = file_.read_strings(path);
  }
}

/// The data set at `path`, which may leave out a second extent of one (and both, for a scalar).
MatrixXd RecordReader::matrix(const std::string& path, Index rows, Index columns) const {
  if (file_.kind(path) != NodeKind::kDataset) bad_data("{}: is missing", path);
  const std::vector<Index> shape = file_.info(path).shape;
  const Index found_rows = shape.empty() ? 1 : shape[0];
  const Index found_columns = shape.size() < 2 ? 1 : shape[1];
  if (shape.size() > 2 || (rows >= 0 && found_rows != rows) ||
      (columns >= 0 && found_columns != columns)) {
    const auto allowed = [](Index n) { return n < 0 ? std::string("n") : std::to_string(n); };
    bad_data("{}: has shape {}; allowed: [{}, {}]", path, shape_text(shape), allowed(rows),
             allowed(columns));
  }
  const Tensor tensor = file_.read_array(path);
  return Eigen::Map<const RowMatrixXd>(tensor.values.data(), found_rows, found_columns);
}

void RecordReader::get(const std::string& path, MatrixXd& value, const FieldForm& form) const {
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

void RecordReader::get(const std::string& path, VectorXd& value, const FieldForm& form) const {
  if (present(path, form)) value = matrix(path, -1, 1).col(0);
}

void RecordReader::get(const std::string& path, Tensor& value, const FieldForm& form) const {
  if (!present(path, form)) return;
  value = file_.read_array(path);
  if (form.layout == FieldLayout::kReadout && value.shape.size() == 2) {
    value.shape.insert(value.shape.end(), {1, 1});
  }
}

/// The number of arrays <path>/layer_<l>.
std::size_t RecordReader::layers(const std::string& path) const {
  return shapes_.layers.empty() ? file_.members(path).size() : shapes_.layers.size();
}

void RecordReader::get(const std::string& path, std::vector<MatrixXd>& values,
                       const FieldForm& form) const {
  values.clear();
  if (file_.kind(path) == NodeKind::kAbsent) return;
  if (form.layout == FieldLayout::kStacked) {
    values = file_.read_matrices(path);
    return;
  }
  for (std::size_t l = 0; l < layers(path); ++l) {
    const Index size = shapes_.layers.empty() ? -1 : shapes_.layers[l];
    values.push_back(matrix(layer_path(path, l), size, size));
    if (values.back().allFinite()) continue;
    bad_data("{}: holds numbers that are not finite", layer_path(path, l));
  }
}

void RecordReader::get(const std::string& path, std::vector<detail::Texts>& values,
                       const FieldForm& /*form*/) const {
  values.assign(layers(path), {});
  for (std::size_t l = 0; l < values.size(); ++l) {
    const std::string layer = layer_path(path, l);
    if (file_.kind(layer) != NodeKind::kAbsent) values[l] = file_.read_strings(layer);
  }
}

/// Numbers of an attribute; `whole`: integers.
void RecordReader::check_list(const std::string& path, const std::vector<double>& values,
                              bool whole, const FieldForm& form) {
  for (const double value : values) {
    if (form.least == 1 && !(value >= 1.0 && value <= 1e15 && value == std::floor(value))) {
      bad_data("{}: holds {}; allowed: positive integers", attribute_label(path), value);
    }
    if (whole) {
      require_whole(path, value, form.least, std::numeric_limits<std::int64_t>::max());
    }
  }
}

}  // namespace headway::io
