#include <algorithm>
#include <utility>

#include "headway/io/dataset_arrays.hpp"
#include "io/dataset_file/layout.hpp"

namespace headway::io {
namespace {

constexpr Index kGivenBlock = Index{2} << 20;

ElementKind kind_of(const std::string& type) {
  if (type == "string") return ElementKind::kText;
  if (type == "float32") return ElementKind::kFloat32;
  if (type == "float64") return ElementKind::kFloat64;
  if (type == "bool") return ElementKind::kBoolean;
  return type.find("int") != std::string::npos ? ElementKind::kInteger : ElementKind::kUnsupported;
}

/// Arrays in memory as a tree.
class ArrayTree final : public DatasetTree {
 public:
  explicit ArrayTree(const GivenArrays& given) : given_(given) {}

  [[nodiscard]] bool in_memory() const override { return true; }
  [[nodiscard]] std::string name_of(const std::string& path) const override {
    return given_.name_of(path);
  }

  [[nodiscard]] NodeKind kind(const std::string& path) const override {
    if (given_.arrays.contains(path)) return NodeKind::kDataset;
    const bool group = given_.empty_groups.contains(path) || !members(path).empty();
    return group ? NodeKind::kGroup : NodeKind::kAbsent;
  }

  [[nodiscard]] std::vector<std::string> members(const std::string& group) const override {
    const std::string prefix = group == "/" ? "" : group + "/";
    std::set<std::string> names;
    const auto note = [&](const std::string& path) {
      if (!path.starts_with(prefix)) return;
      const std::string rest = path.substr(prefix.size());
      names.insert(rest.substr(0, rest.find('/')));
    };
    for (const auto& [path, array] : given_.arrays) note(path);
    for (const std::string& path : given_.empty_groups) note(path);
    return {names.begin(), names.end()};
  }

  [[nodiscard]] ArrayInfo info(const std::string& path) const override {
    const GivenArrays::Array& array = given_.arrays.at(path);
    ArrayInfo out;
    out.kind = kind_of(array.type);
    out.type_name = array.type;
    out.shape = array.numbers ? array.numbers->shape()
                              : std::vector<Index>{static_cast<Index>(array.texts.size())};
    return out;
  }

  [[nodiscard]] std::string storage_fault(const ArrayInfo& /*info*/,
                                          bool /*whole*/) const override {
    return {};
  }
  [[nodiscard]] std::vector<std::string> texts(const std::string& path) const override {
    return given_.arrays.at(path).texts;
  }

  [[nodiscard]] std::optional<std::string> text_attribute(const std::string& /*object*/,
                                                          const std::string& name) const override {
    if (name == "schema_name") return dataset_rules().schema_name;
    if (name == "readout") return given_.readout;
    return name == "attention_rows" ? given_.attention_rows : std::nullopt;
  }
  [[nodiscard]] std::optional<std::vector<double>> number_attribute(
      const std::string& /*object*/, const std::string& name) const override {
    if (name == "schema_version") return dataset_rules().schema_version;
    return name == "heads" ? given_.heads : std::nullopt;
  }

  void for_each_block(const std::string& path, const Visit& visit, Index /*part*/,
                      Index /*parts*/) const override {
    const ArrayInfo about = info(path);
    if (about.shape.empty() || about.shape[0] == 0) return;
    const tasks::ArraySource& numbers = *given_.arrays.at(path).numbers;
    const Index rows = about.shape[0];
    const Index row_size = static_cast<Index>(about.elements().value_or(0)) / rows;
    const Index step = std::max<Index>(1, kGivenBlock / std::max<Index>(row_size, 1));
    std::vector<double> block(static_cast<std::size_t>(std::min(step, rows) * row_size));
    for (Index begin = 0; begin < rows; begin += step) {
      const Index count = std::min(step, rows - begin);
      numbers.read(begin, count, block.data());
      visit(about, begin, count, {block.data(), static_cast<std::size_t>(count * row_size)});
    }
  }

 private:
  const GivenArrays& given_;
};

}  // namespace

CheckedArrays check_arrays(const GivenArrays& given, bool learned) {
  const ArrayTree tree(given);
  FaultList faults([&](const std::string& path) { return tree.name_of(path); });
  DatasetLayout layout = check_layout(tree, faults);
  check_values(tree, layout, {}, faults);
  CheckedArrays out{faults.messages(), std::move(layout.heads), std::nullopt,
                    std::move(layout.splits)};
  if (layout.known_form) out.form = layout.form;
  if (learned) {
    std::erase_if(out.faults, [](const std::string& fault) { return is_missing_attention(fault); });
  }
  return out;
}

}  // namespace headway::io
