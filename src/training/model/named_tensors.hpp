// All parameters as one array, and back.
#pragma once

#include <span>
#include <vector>

#include "training/model/transformer_parameters.hpp"

namespace headway::training::detail {

Index total_count(const std::vector<ParameterShape>& shapes);

std::vector<NamedTensor> split_tensors(const std::vector<ParameterShape>& shapes,
                                       std::span<const float> flat);

/// The tensors in the order of `shapes`; those of no such name stand at the end.
std::vector<NamedTensor> in_order(const std::vector<ParameterShape>& shapes,
                                  const std::vector<NamedTensor>& tensors);

/// Error{kBadData} naming the tensor when names, shapes or lengths are not those of `shapes`, or a
/// number is not finite.
std::vector<float> join_tensors(const std::vector<ParameterShape>& shapes,
                                const std::vector<NamedTensor>& tensors);

}  // namespace headway::training::detail
