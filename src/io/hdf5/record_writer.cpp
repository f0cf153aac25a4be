#include "headway/core/text.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {

using detail::NumberArray;

std::string member_path(const std::string& group, const std::string& name) {
  if (name.empty()) return group;
  return group.empty() || group == "/" ? name : group + "/" + name;
}

std::pair<std::string, std::string> attribute_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"/", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string layer_path(const std::string& path, std::size_t layer) {
  return path + "/layer_" + std::to_string(layer + 1);
}

std::string axes_of(const FieldForm& form, std::size_t rank, const std::string& path) {
  std::vector<std::string> names;
  if (!form.axes.empty()) names = split(form.axes, ' ');
  while (names.size() > rank && names.back().starts_with("output")) names.pop_back();
  if (names.size() != rank) return {};
  constexpr std::string_view kLayer = "/layer_";
  const std::size_t layer = path.rfind(kLayer);
  if (layer != std::string::npos) {
    const std::string rest = path.substr(layer + kLayer.size());
    const std::string number = rest.substr(0, rest.find('_'));
    for (std::string& name : names) {
      if (number != "1" && name.starts_with("path")) name.insert(4, "_" + number);
    }
  }
  return join(names, " ");
}

NumberArray<double> detail::array_of(const VectorXd& value, const FieldForm& /*form*/) {
  return {{value.size()}, {value.begin(), value.end()}};
}

NumberArray<double> detail::array_of(const MatrixXd& value, const FieldForm& form) {
  NumberArray<double> out{{value.rows(), value.cols()}, std::vector<double>(value.size())};
  Eigen::Map<RowMatrixXd>(out.values.data(), value.rows(), value.cols()) = value;
  if (form.layout == FieldLayout::kOutputs && value.cols() == 1) out.shape = {value.rows()};
  if (form.layout == FieldLayout::kReadout && value.size() == 1) out.shape = {};
  return out;
}

NumberArray<double> detail::array_of(const std::vector<MatrixXd>& values,
                                     const FieldForm& /*form*/) {
  NumberArray<double> out;
  for (const MatrixXd& value : values) {
    const NumberArray<double> one = array_of(value, {});
    out.shape = {static_cast<Index>(values.size()), value.rows(), value.cols()};
    out.values.insert(out.values.end(), one.values.begin(), one.values.end());
  }
  return out;
}

void RecordWriter::write_array(const std::string& path, const detail::Texts& values,
                               const FieldForm& form) {
  if (form.optional && values.empty()) return;
  if (form.layout == FieldLayout::kAttribute) {
    const auto [object, attribute] = attribute_of(path);
    out_.set(object, attribute, join(values, "\n"));
  } else {
    out_.write_strings(path, values, axes_of(form, 1, path));
  }
}

void RecordWriter::write_array(const std::string& path, const Tensor& value,
                               const FieldForm& form) {
  if (form.optional && value.empty()) return;
  std::vector<Index> shape = value.shape;
  if (form.layout == FieldLayout::kReadout) {  // [.., C, C], without these two for C = 1
    while (shape.size() > 2 && shape.back() == 1) shape.pop_back();
  }
  if (value.empty() && shape.empty()) shape = {0};  // {} would be a scalar
  out_.write(path, shape, value.values.data(), axes_of(form, shape.size(), path));
}

void RecordWriter::write_array(const std::string& path, const std::vector<MatrixXd>& values,
                               const FieldForm& form) {
  if (form.layout == FieldLayout::kStacked) {
    if (values.empty()) return;
    const NumberArray<double> array = detail::array_of(values, form);
    out_.write(path, array.shape, array.values.data(), axes_of(form, array.shape.size(), path));
    return;
  }
  for (std::size_t l = 0; l < values.size(); ++l) {
    if (values[l].size() == 0) continue;
    const NumberArray<double> array = detail::array_of(values[l], {});
    const std::string at = layer_path(path, l);
    out_.write(at, array.shape, array.values.data(), axes_of(form, array.shape.size(), at));
  }
}

void RecordWriter::write_array(const std::string& path, const std::vector<detail::Texts>& values,
                               const FieldForm& /*form*/) {
  for (std::size_t l = 0; l < values.size(); ++l) {
    out_.write_strings(layer_path(path, l), values[l]);
  }
}

}  // namespace headway::io
