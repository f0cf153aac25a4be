#include "io/hdf5/record_columns.hpp"

#include "headway/core/text.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {
namespace {

constexpr double kLargestWhole = 0x1p53;

template <class Values>
inline constexpr bool kIsTexts = std::is_same_v<std::decay_t<Values>, detail::Texts>;

}  // namespace

void ColumnWriter::write(const std::string& path, std::size_t count, const FieldForm& form,
                         FieldSink& out) const {
  const auto rows = static_cast<Index>(count);
  RowMatrixXd table(rows, static_cast<Index>(columns_.size()));
  std::vector<std::string> names;
  for (const auto& [name, column] : columns_) {
    const auto write_one = [&, &name = name](const auto& values) {
      if (values.size() < count) {
        fail(ErrorKind::kInternal, "{}: column {} has {} of {} entries", path, name, values.size(),
             count);
      }
      if (form.layout == FieldLayout::kTable) {
        if constexpr (!kIsTexts<decltype(values)>) {
          std::copy_n(values.begin(), rows, table.col(static_cast<Index>(names.size())).begin());
        }
      } else if constexpr (kIsTexts<decltype(values)>) {
        out.write_strings(member_path(path, name), {values.begin(), values.begin() + rows},
                          form.axes);
      } else {
        out.write(member_path(path, name), {rows}, values.data(), form.axes);
      }
    };
    std::visit(write_one, column);
    names.push_back(name);
  }
  if (form.layout != FieldLayout::kTable) return;
  out.write(path, {table.rows(), table.cols()}, table.data(), form.axes);
  out.set(path, "columns", join(names, ","));
}

ColumnReader::ColumnReader(const Hdf5InputFile& file, const std::string& path, FieldLayout layout)
    : file_(file), path_(path), layout_(layout) {
  if (layout != FieldLayout::kTable) return;
  table_ = file.read_array(path);
  table_names_ = split(file.text_attribute(path, "columns").value_or(""), ',');
}

void ColumnReader::load(const std::string& name, Column column, const FieldForm& form) {
  const auto take_from_table = [&](auto& values) {
    using Kept = typename std::decay_t<decltype(values)>::value_type;
    const auto named = std::find(table_names_.begin(), table_names_.end(), name);
    if (!table_names_.empty() && named == table_names_.end()) {
      bad_data("{}: has no column {}", path_, name);
    }
    const Index at =
        table_names_.empty() ? static_cast<Index>(columns_.size()) : named - table_names_.begin();
    if (table_.shape.size() != 2 || at >= table_.shape[1]) return;  // rows() says so
    for (auto i = static_cast<std::size_t>(at); i < table_.values.size();
         i += static_cast<std::size_t>(table_.shape[1])) {
      const double number = table_.values[i];
      if (std::is_integral_v<Kept> &&
          !(std::abs(number) <= kLargestWhole && number == std::floor(number))) {
        refuse(name, std::to_string(number));
      }
      if constexpr (std::is_arithmetic_v<Kept>) values.push_back(static_cast<Kept>(number));
    }
  };
  if (layout_ == FieldLayout::kTable) {
    std::visit(take_from_table, column);
  } else {
    RecordReader reader(file_, path_);
    std::visit([&](auto& values) { reader(name, values, "", form); }, column);
  }
  const std::size_t count = std::visit([](const auto& values) { return values.size(); }, column);
  if (!columns_.empty() && count != count_ && layout_ != FieldLayout::kTable) {
    bad_data("{}: has {} entries; allowed: {}", member_path(path_, name), count, count_);
  }
  count_ = count;
  columns_.emplace(name, std::move(column));
}

std::size_t ColumnReader::rows() const {
  const std::size_t width = std::max(columns_.size(), table_names_.size());
  if (layout_ == FieldLayout::kTable &&
      (table_.shape.size() != 2 || table_.shape[1] != static_cast<Index>(width))) {
    bad_data("{}: has shape {}; allowed: [n, {}]", path_, shape_text(table_.shape), width);
  }
  return count_;
}

void ColumnReader::refuse(const std::string& name, const std::string& value) const {
  bad_data("{}: holds {} where {} is expected",
           layout_ == FieldLayout::kTable ? path_ : member_path(path_, name), value, name);
}

}  // namespace headway::io
