// AdamW of the CPU's fused kernels, on LibTorch's arrays.
#pragma once

#include <vector>

#include "training/torch/device_update.hpp"

namespace headway::training::detail {

/// Runs of fixed length, added in index order.
double host_gradient_norm(const at::Tensor& gradients, int threads);

/// The update with a gradient of this norm. `offsets`: of each of setup.shapes in the arrays.
void host_update(const EngineSetup& setup, const std::vector<Index>& offsets,
                 const UpdatedArrays& on, const AdamWStep& step, double norm);

}  // namespace headway::training::detail
