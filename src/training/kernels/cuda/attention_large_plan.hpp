#pragma once

#include <optional>

#include "training/kernels/cuda/attention_plan.hpp"

namespace headway::training {

/// The plan of a layer in bf16 for the kernels of attention_large_*.hpp, without room for the
/// gradient of a bias. Nothing where they do not take it, or the device has too little memory.
/// `groups`: runs of examples of the backward pass.
std::optional<GpuAttentionPlan> plan_large_attention(const AttentionShape& shape,
                                                     const AttentionOptions& options, Index groups,
                                                     const GpuDevice& device);

}  // namespace headway::training
