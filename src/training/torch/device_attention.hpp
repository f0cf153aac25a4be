// The fused kernels of training/kernels/cuda as a function with gradients.
#pragma once

#include <array>
#include <map>
#include <optional>

#include "training/torch/pair_attention.hpp"

namespace headway::training::detail {

/// The kernels for NVIDIA GPUs that this library was built with; null where it has none.
const GpuAttentionKernels* built_gpu_kernels();

class DeviceAttention {
 public:
  /// `kernels` null: nothing fits. `library`: layers that LibTorch's own fused attention takes.
  DeviceAttention(const GpuAttentionKernels* kernels, Precision precision,
                  LibraryAttentionUse library)
      : kernels_(kernels), precision_(precision), library_(library) {}

  /// o [B, Sq, H, dv] of eqs. 1 to 7; undefined where no tile of the layer fits the device. Memory
  /// is linear in queries and keys, but for the numbers of distances, which are laid out by pair.
  [[nodiscard]] at::Tensor attended(const AttentionShape& shape, const AttentionOptions& options,
                                    const PairTensors& in) const;

 private:
  using Key = std::array<Index, 9>;
  [[nodiscard]] const std::optional<GpuAttentionPlan>& plan_of(const GpuAttentionLayer& layer,
                                                               bool bias_gradient,
                                                               bool dropout) const;

  /// Of the device, asked once.
  [[nodiscard]] const GpuDevice& sizes() const {
    if (!sizes_) sizes_ = kernels_->device();
    return *sizes_;
  }
  [[nodiscard]] bool by_library(const GpuAttentionLayer& layer, const PairTensors& in) const;

  const GpuAttentionKernels* kernels_;
  Precision precision_;
  LibraryAttentionUse library_;
  mutable std::optional<GpuDevice> sizes_;
  mutable std::map<Key, std::optional<GpuAttentionPlan>> plans_;
};

}  // namespace headway::training::detail
