// The linear-value network of linear_value.hpp without LibTorch: its options, parameters and costs.
#pragma once

#include <vector>

#include "training/model/transformer_parameters.hpp"

namespace headway::training::detail {

/// What TransformerOptions::validate() asks of this kind of network besides its table: Error
/// {kBadStudy} for more paths than it is trained with.
void validate_linear_value(const TransformerOptions& options);

/// input.weight, layers.<l>.query.weight, key.weight, value.weight, readout.weight. First values
/// are independent normals: of variance 1 for V_0, V_l and a, the theory's prior, and
/// initial_query_scale^2 / F for queries and keys. Error{kBadStudy} when the task gives ids or
/// scores more than one token.
std::vector<ParameterShape> linear_value_shapes(const TransformerOptions& options,
                                                const TaskFormat& format);

StepFlops linear_value_flops(const TransformerOptions& options, const TaskFormat& format,
                             Index batch);

}  // namespace headway::training::detail
