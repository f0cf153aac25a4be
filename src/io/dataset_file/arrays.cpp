#include <algorithm>

#include "io/dataset_file/layout.hpp"

namespace headway::io {
namespace {

/// What the table asks for, with the symbols of one layer and split.
struct Wanted {
  std::string axes;
  std::vector<std::string> symbols, keys;
};

std::string type_fault(const FoundArray& array) {
  const bool text = array.member->values == DatasetMember::Values::kText;
  const bool fits =
      text ? array.info.kind == ElementKind::kText || array.info.kind == ElementKind::kInteger
           : array.info.is_number();
  if (fits) return {};
  return fmt::format("type {}; allowed: {}", array.info.type_name,
                     text ? "strings" : "float32, float64 or integers");
}

bool rank_fits(const FoundArray& array) {
  const std::vector<Index>& shape = array.info.shape;
  const auto& shapes = array.member->shapes;
  return std::any_of(shapes.begin(), shapes.end(),
                     [&](const auto& allowed) { return allowed.size() == shape.size(); }) &&
         std::find(shape.begin(), shape.end(), 0) == shape.end();
}

std::string shape_fault(const FoundArray& array, const Wanted& wanted,
                        const DatasetLayout& layout) {
  std::vector<std::string> extents;
  for (const std::string& key : wanted.keys) {
    const Index known = layout.extent(key);
    extents.push_back(known == 0 ? "any" : std::to_string(known));
  }
  return fmt::format("shape {}; allowed: {} with extents [{}], none zero",
                     shape_text(array.info.shape), wanted.axes, join(extents));
}

/// Extents that another data set, or another index of this one, has otherwise; when there are none,
/// new extents are noted.
std::string extent_faults(const DatasetTree& tree, const FoundArray& array, const Wanted& wanted,
                          DatasetLayout& layout) {
  std::map<std::string, DatasetLayout::Extent> found;
  std::vector<std::string> notes;
  for (std::size_t d = 0; d < wanted.keys.size(); ++d) {
    const std::string& symbol = wanted.symbols[d];
    const auto& known_here = layout.extents.contains(wanted.keys[d]) ? layout.extents : found;
    const auto known = known_here.find(wanted.keys[d]);
    // What a lower rank leaves out is 1.
    const Index extent = d < array.info.shape.size() ? array.info.shape[d] : 1;
    if (known == known_here.end()) {
      found[wanted.keys[d]] = {extent, array.path};
    } else if (known->second.value != extent) {
      const auto& [value, source] = known->second;
      std::string note = source == array.path
                             ? fmt::format("{} is {} and {}", symbol, value, extent)
                             : fmt::format("{} = {} as in {}", symbol, value, tree.name_of(source));
      const auto hint = array.member->hints.find(symbol);
      if (hint != array.member->hints.end()) note += ": " + hint->second;
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
  if (!notes.empty()) {
    return fmt::format("{} ({})", shape_fault(array, wanted, layout), join(notes));
  }
  layout.extents.merge(found);
  return {};
}

void check_text(const DatasetTree& tree, const std::string& path, FaultList& faults) {
  const std::vector<std::string> texts = tree.texts(path);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string fault = text_fault(texts[i], false);
    if (!fault.empty()) faults.add(path, "[{}] {}", i, fault);
  }
}

}  // namespace

std::string absence(NodeKind kind, std::string_view wanted) {
  switch (kind) {
    case NodeKind::kAbsent:
      return "is missing";
    case NodeKind::kDanglingLink:
      return "is a link that leads nowhere";
    case NodeKind::kExternalLink:
      return "is a link to another file";
    default:
      return fmt::format("is not {}", wanted);
  }
}

void ArrayChecker::check(const DatasetMember& member, const std::string& split, int layer,
                         bool needed) const {
  FoundArray array{member.path_in(split), split, &member, {}};
  if (layer > 0) array.path += fmt::format("/layer_{}", layer);
  faults.guard(array.path, [&] {
    const int layers = static_cast<int>(layout.extent("L"));
    Wanted wanted{member.axes(layer, layers), {}, {}};
    for (const std::string& symbol : member.shapes.back()) {
      wanted.symbols.push_back(symbol_in(symbol, layer, layers));
      wanted.keys.push_back(extent_key(wanted.symbols.back(), split));
    }
    const NodeKind kind = tree.kind(array.path);
    if (kind == NodeKind::kAbsent && !needed) return;
    if (kind != NodeKind::kDataset) {
      return faults.add(array.path, ": {}; allowed: {} {}{}", absence(kind, "a data set"),
                        tree.in_memory() ? "an array" : "a data set", wanted.axes,
                        tree.in_memory() ? "" : " in this file");
    }
    array.info = tree.info(array.path);
    std::string fault = type_fault(array);
    if (fault.empty() && !rank_fits(array)) fault = shape_fault(array, wanted, layout);
    if (fault.empty()) {
      fault = tree.storage_fault(array.info, member.in_memory);
    }
    const bool readable = fault.empty();
    if (readable) fault = extent_faults(tree, array, wanted, layout);
    if (!fault.empty()) faults.add(array.path, ": {}", fault);
    if (!readable) return;
    if (member.values == DatasetMember::Values::kText) check_text(tree, array.path, faults);
    layout.arrays.push_back(array);
  });
}

}  // namespace headway::io
