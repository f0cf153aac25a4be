// Which layers LibTorch's own fused attention takes (torch/library_attention.hpp).
#pragma once

#include "training/kernels/cuda/gpu_attention.hpp"

namespace headway::training::detail {

enum class LibraryAttentionUse {
  /// Large layers in bf16, where the device has kernels_by_shape.
  kByShape,
  /// Every layer that can be had from it, of any size and precision. For tests.
  kWhereItCan,
  /// None: this LibTorch has no such attention for the device.
  kNever,
};

/// What a layer has beside queries, keys and values.
struct AttentionExtras {
  bool bias = false, mask = false, dropout = false;
};

/// Softmax of plain values without any extras. A causal layer has as many queries as keys: LibTorch
/// counts the diagonal from the first key, eq. 1 from the last. Dropout is out since its mask is
/// shared by batch and heads. A bias is out since its gradient would be an array of all pairs of
/// every example.
bool library_attention_takes(LibraryAttentionUse use, const GpuAttentionLayer& layer,
                             const AttentionExtras& extras, const GpuDevice& device);

}  // namespace headway::training::detail
