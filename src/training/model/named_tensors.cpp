#include "training/model/named_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "headway/core/text.hpp"
#include "headway/error.hpp"

namespace headway::training::detail {

Index total_count(const std::vector<ParameterShape>& shapes) {
  Index total = 0;
  for (const ParameterShape& shape : shapes) total += shape.count();
  return total;
}

std::vector<NamedTensor> split_tensors(const std::vector<ParameterShape>& shapes,
                                       std::span<const float> flat) {
  std::vector<NamedTensor> tensors;
  for (const ParameterShape& shape : shapes) {
    const auto count = static_cast<std::size_t>(shape.count());
    tensors.push_back({shape.name, shape.shape, {flat.begin(), flat.begin() + shape.count()}});
    flat = flat.subspan(count);
  }
  return tensors;
}

std::vector<NamedTensor> in_order(const std::vector<ParameterShape>& shapes,
                                  const std::vector<NamedTensor>& tensors) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < shapes.size(); ++i) places.emplace(shapes[i].name, i);
  const auto place = [&](const NamedTensor& tensor) {
    const auto found = places.find(tensor.name);
    return found == places.end() ? shapes.size() : found->second;
  };
  std::vector<NamedTensor> ordered = tensors;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const NamedTensor& a, const NamedTensor& b) { return place(a) < place(b); });
  return ordered;
}

std::vector<float> join_tensors(const std::vector<ParameterShape>& shapes,
                                const std::vector<NamedTensor>& tensors) {
  if (tensors.size() != shapes.size()) {
    throw Error(ErrorKind::kBadData, fmt::format("weights: {} tensors, but this model has {}",
                                                 tensors.size(), shapes.size()));
  }
  std::vector<float> flat;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const ParameterShape& shape = shapes[i];
    const NamedTensor& tensor = tensors[i];
    if (tensor.name != shape.name || tensor.shape != shape.shape ||
        static_cast<Index>(tensor.values.size()) != shape.count()) {
      throw Error(
          ErrorKind::kBadData,
          fmt::format("weights: tensor {} [{}] of {} numbers, but this model has {} [{}] there",
                      tensor.name, join(tensor.shape, ", "), tensor.values.size(), shape.name,
                      join(shape.shape, ", ")));
    }
    for (const float x : tensor.values) {
      if (std::isfinite(x)) continue;
      throw Error(ErrorKind::kBadData,
                  fmt::format("weights: tensor {} holds {}: must be finite", tensor.name, x));
    }
    flat.insert(flat.end(), tensor.values.begin(), tensor.values.end());
  }
  return flat;
}

}  // namespace headway::training::detail
