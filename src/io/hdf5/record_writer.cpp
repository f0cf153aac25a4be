#include <fmt/core.h>
#include <fmt/ranges.h>

#include "headway/core/error.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {

std::string member_path(const std::string& group, const std::string& name) {
  if (name.empty()) return group;
  return group.empty() || group == "/" ? name : group + "/" + name;
}

std::pair<std::string, std::string> attribute_of(const std::string& group,
                                                 const std::string& name) {
  const std::string path = member_path(group, name);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"/", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string layer_path(const std::string& path, std::size_t layer) {
  return fmt::format("{}/layer_{}", path, layer + 1);
}

void detail::refuse_column(const std::string& name) {
  throw Error(ErrorKind::kInternal, name + ": a column holds numbers, words or texts");
}

RecordWriter::RecordWriter(Hdf5OutputFile& out, std::string group)
    : out_(out), group_(std::move(group)) {
  out_.make_group(group_);
}

void RecordWriter::put(const std::string& name, double value) {
  const auto [object, attribute] = attribute_of(group_, name);
  out_.set(object, attribute, value);
}

void RecordWriter::put(const std::string& name, std::int64_t value) {
  const auto [object, attribute] = attribute_of(group_, name);
  out_.set(object, attribute, value);
}

void RecordWriter::put(const std::string& name, std::uint64_t value) {
  const auto [object, attribute] = attribute_of(group_, name);
  out_.set_unsigned(object, attribute, value);
}

void RecordWriter::put(const std::string& name, const std::string& value,
                       const FieldForm& /*form*/) {
  const auto [object, attribute] = attribute_of(group_, name);
  out_.set(object, attribute, value);
}

void RecordWriter::put_attribute(const std::string& name, const std::vector<double>& values) {
  const auto [object, attribute] = attribute_of(group_, name);
  out_.set(object, attribute, values);
}

void RecordWriter::put_attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  const auto [object, attribute] = attribute_of(group_, name);
  out_.set(object, attribute, values);
}

void RecordWriter::put(const std::string& name, const std::vector<std::string>& values,
                       const FieldForm& form) {
  if (form.optional && values.empty()) return;
  if (form.layout == FieldLayout::kAttribute) {
    put(name, fmt::format("{}", fmt::join(values, "\n")));
  } else {
    out_.write_strings(member_path(group_, name), values);
  }
}

void RecordWriter::put(const std::string& name, const MatrixXd& value, const FieldForm& form) {
  const std::string path = member_path(group_, name);
  if (form.optional && value.size() == 0) return;
  if (form.layout == FieldLayout::kOutputs) {
    out_.write_outputs(path, value);
  } else if (form.layout != FieldLayout::kReadout || value.size() > 1) {
    out_.write(path, value);
  } else if (value.size() == 1) {
    out_.write(path, std::vector<Index>{}, value.data());
  }
}

void RecordWriter::put(const std::string& name, const VectorXd& value, const FieldForm& form) {
  if (form.optional && value.size() == 0) return;
  out_.write(member_path(group_, name), value);
}

void RecordWriter::put(const std::string& name, const Tensor& value, const FieldForm& form) {
  if (form.optional && value.empty()) return;
  std::vector<Index> shape = value.shape;
  if (form.layout == FieldLayout::kReadout) {  // [.., C, C], without these two for C = 1
    while (shape.size() > 2 && shape.back() == 1) shape.pop_back();
  }
  if (value.empty() && shape.empty()) shape = {0};  // {} would be a scalar
  out_.write(member_path(group_, name), shape, value.values.data());
}

void RecordWriter::put(const std::string& name, const std::vector<MatrixXd>& values,
                       const FieldForm& form) {
  const std::string path = member_path(group_, name);
  if (form.layout == FieldLayout::kStacked) {
    if (values.empty()) return;
    const Index rows = values.front().rows(), columns = values.front().cols();
    RowMatrixXd stacked(static_cast<Index>(values.size()) * rows, columns);
    for (std::size_t i = 0; i < values.size(); ++i) {
      stacked.middleRows(static_cast<Index>(i) * rows, rows) = values[i];
    }
    out_.write(path, {static_cast<Index>(values.size()), rows, columns}, stacked.data());
    return;
  }
  for (std::size_t l = 0; l < values.size(); ++l) {
    if (values[l].size() > 0) out_.write(layer_path(path, l), values[l]);
  }
}

void RecordWriter::put(const std::string& name, const std::vector<std::vector<std::string>>& values,
                       const FieldForm& /*form*/) {
  for (std::size_t l = 0; l < values.size(); ++l) {
    out_.write_strings(layer_path(member_path(group_, name), l), values[l]);
  }
}

void RecordWriter::put_columns(const std::string& path, const ColumnWriter& columns,
                               std::size_t count, FieldLayout layout) {
  const auto rows = static_cast<Index>(count);
  if (layout != FieldLayout::kTable) {
    for (const auto& [name, column] : columns.columns()) {
      std::visit(
          [&, &name = name](const auto& values) {
            if constexpr (std::is_same_v<std::decay_t<decltype(values)>,
                                         std::vector<std::string>>) {
              out_.write_strings(member_path(path, name), {values.begin(), values.begin() + rows});
            } else {
              out_.write(member_path(path, name), {rows}, values.data());
            }
          },
          column);
    }
    return;
  }
  RowMatrixXd table(rows, static_cast<Index>(columns.columns().size()));
  std::vector<std::string> names;
  for (const auto& [name, column] : columns.columns()) {
    const auto j = static_cast<Index>(names.size());
    std::visit(
        [&](const auto& values) {
          for (Index i = 0; i < rows; ++i) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(values)>,
                                          std::vector<std::string>>) {
              table(i, j) = static_cast<double>(values[static_cast<std::size_t>(i)]);
            }
          }
        },
        column);
    names.push_back(name);
  }
  out_.write(path, {table.rows(), table.cols()}, table.data());
  out_.set(path, "columns", fmt::format("{}", fmt::join(names, ",")));
}

}  // namespace headway::io
