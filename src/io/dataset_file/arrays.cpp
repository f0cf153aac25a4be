#include "io/dataset_file/arrays.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "headway/core/error.hpp"
#include "io/dataset_file/names.hpp"

namespace headway::io {

std::optional<ArrayInfo> ArrayChecker::wanted_array(const std::string& path,
                                                    const WantedArray& wanted, bool required) {
  const NodeKind kind = file_.kind(path);
  if (kind == NodeKind::kAbsent && !required) return std::nullopt;
  if (kind != NodeKind::kDataset) {
    const char* what = kind == NodeKind::kAbsent         ? "is missing"
                       : kind == NodeKind::kDanglingLink ? "is a link that leads nowhere"
                       : kind == NodeKind::kExternalLink ? "is a link to another file"
                                                         : "is no data set";
    faults_.add(path, fmt::format(": {}; allowed: a data set {} in this file", what, wanted.axes));
    return std::nullopt;
  }
  ArrayInfo info;
  try {
    info = file_.info(path);
  } catch (const Error& e) {
    faults_.add_error(path, e.what());
    return std::nullopt;
  }
  const bool type_fits = wanted.text
                             ? info.kind == ElementKind::kText || info.kind == ElementKind::kInteger
                             : info.is_number();
  if (!type_fits) {
    faults_.add(path, fmt::format(": type {}; allowed: {}", info.type_name,
                                  wanted.text ? "strings" : "float32, float64 or integers"));
    return std::nullopt;
  }
  if (!shape_fits(path, info, wanted)) return std::nullopt;
  const std::string fault = implausible_storage(info, file_.file_bytes(), wanted.in_memory);
  if (fault.empty()) return info;
  faults_.add(path, fmt::format(": {}", fault));
  return std::nullopt;
}

bool ArrayChecker::shape_fits(const std::string& path, const ArrayInfo& info,
                              const WantedArray& wanted) {
  const std::vector<Index>& shape = info.shape;
  const bool labels = wanted.axes == "[P] or [P, C]";  // the one data set of two possible ranks
  bool fits = shape.size() == wanted.shape.size() || (labels && shape.size() == 1);
  for (std::size_t d = 0; fits && d < shape.size(); ++d) {
    fits = shape[d] >= 1 && (wanted.shape[d] < 0 || wanted.shape[d] == shape[d]);
  }
  if (fits) return true;
  std::string extents;
  for (const Index d : wanted.shape) {
    extents +=
        fmt::format("{}{}", extents.empty() ? "" : ", ", d < 0 ? "any" : fmt::format("{}", d));
  }
  faults_.add(path, fmt::format(": shape {}; allowed: {} with extents [{}], none zero",
                                shape_text(shape), wanted.axes, extents));
  return false;
}

void check_network(const Hdf5InputFile& file, FaultList& faults, DatasetLayout& layout) {
  const NodeKind kind = file.kind("network");
  if (kind == NodeKind::kAbsent) return;
  if (kind != NodeKind::kGroup) {
    faults.add("network", ": is no group; allowed: a group with input, values and readout");
    return;
  }
  ArrayChecker arrays(file, faults);
  NetworkLayout network;
  const Index features = layout.features == 0 ? -1 : layout.features;
  Index width = -1;  // of the layer above what was read last
  const auto input = arrays.wanted_array("network/input", {{-1, features}, "[N_1, N_0]", true});
  if (input) width = input->shape[0];
  for (std::size_t l = 0; l < layout.heads.size(); ++l) {
    const std::string path = fmt::format("network/values/layer_{}", l + 1);
    const Index heads = layout.heads[l] == 0 ? -1 : layout.heads[l];
    const auto info = arrays.wanted_array(path, {{heads, -1, width}, "[H, N_next, N]", true});
    width = info ? info->shape[1] : -1;
    network.values.push_back(info ? path : "");
  }
  for (const std::string& member : file.members("network/values")) {
    const auto named = [&](std::size_t l) { return member == fmt::format("layer_{}", l + 1); };
    bool known = false;
    for (std::size_t l = 0; l < layout.heads.size(); ++l) known = known || named(l);
    if (known || layout.heads.empty()) continue;
    faults.add("network/values/" + printable(member),
               fmt::format(": no such layer; allowed: layer_1 to layer_{}", layout.heads.size()));
  }
  const Index outputs = layout.train.outputs == 0 ? -1 : layout.train.outputs;
  const auto readout = arrays.wanted_array("network/readout", {{outputs, width}, "[C, N_a]", true});
  if (input) network.input = "network/input";
  if (readout) network.readout = "network/readout";
  layout.network = std::move(network);
}

}  // namespace headway::io
