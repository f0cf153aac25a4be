// The blocks of a transformer in LibTorch's own operations, on any device: the reference of the
// fused ones, and what CUDA runs, with its own fused attention where that fits.
#pragma once

#include "training/torch/device_attention.hpp"
#include "training/torch/functions.hpp"

namespace headway::training::detail {

at::Tensor eager_norm(bool centred, const at::Tensor& x, const NormTensors& norm);

/// As fused_feed_forward.
at::Tensor eager_feed_forward(bool centred, bool residual, const at::Tensor& x,
                              const FeedForwardTensors& parameters);

/// What an attention reads beside tokens and parameters.
struct EagerPairs {
  PairTensors tensors;  ///< distances, first, mask and dropout
  PairMemory memory;
  const DeviceAttention* fused = nullptr;  ///< where it fits; null: there is none
};

/// As fused_attention. Where `weights` is not null it gets a [B, H, Sq, S], before dropout.
at::Tensor eager_attention(const AttentionBlockShape& shape, const at::Tensor& x,
                           const AttentionTensors& parameters, const EagerPairs& pairs,
                           at::Tensor* weights = nullptr);

/// As fused_cross_attention.
at::Tensor eager_cross_attention(const CrossAttentionShape& shape, const at::Tensor& x,
                                 const MemoryTensors& memory, const AttentionTensors& parameters,
                                 const EagerPairs& pairs, at::Tensor* weights = nullptr);

}  // namespace headway::training::detail
