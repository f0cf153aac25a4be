#include "training/named_tensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "headway/core/error.hpp"

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

std::vector<float> join_tensors(const std::vector<ParameterShape>& shapes,
                                const std::vector<NamedTensor>& tensors) {
  if (tensors.size() != shapes.size()) {
    throw Error(ErrorKind::kBadData, fmt::format("checkpoint: {} tensors, and this model has {}",
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
          fmt::format("checkpoint: tensor {} [{}] of {} numbers, and this model has {} [{}] "
                      "there",
                      tensor.name, fmt::join(tensor.shape, ", "), tensor.values.size(), shape.name,
                      fmt::join(shape.shape, ", ")));
    }
    for (const float x : tensor.values) {
      if (std::isfinite(x)) continue;
      throw Error(ErrorKind::kBadData,
                  fmt::format("checkpoint: tensor {} holds {}: must be finite", tensor.name, x));
    }
    flat.insert(flat.end(), tensor.values.begin(), tensor.values.end());
  }
  return flat;
}

}  // namespace headway::training::detail
