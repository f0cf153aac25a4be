// The fused blocks as LibTorch operations with gradients: CPU, float32.
#pragma once

#include "training/model/cross_attention_block.hpp"
#include "training/torch/headers.hpp"

namespace headway::training::detail {

/// Tensors that a variant lacks are undefined.
struct NormTensors {
  at::Tensor scale, bias;
};

/// norm(x) W^T + b over the last dim; without a norm where its scale is undefined.
at::Tensor fused_linear(const BlockContext& context, bool centred, const at::Tensor& x,
                        const NormTensors& norm, const at::Tensor& weight, const at::Tensor& bias);

struct FeedForwardTensors {
  NormTensors norm;
  at::Tensor gate, up, up_bias, down, down_bias;
};
/// x + feed-forward network of norm(x); with `residual` false and an undefined norm the network
/// alone.
at::Tensor fused_feed_forward(const BlockContext& context, bool centred, bool residual,
                              const at::Tensor& x, const FeedForwardTensors& parameters);

struct AttentionTensors {
  NormTensors norm;
  at::Tensor query, query_bias, key, key_bias, value, value_bias, output, output_bias, mixing;
};
/// The attention block on x [B, S, D], for the last shape.attention.queries tokens. scores [H, Sq,
/// S], mask [B, S] (uint8) and dropout [Sq, S] may be undefined.
at::Tensor fused_attention(const BlockContext& context, const AttentionBlockShape& shape,
                           const at::Tensor& x, const AttentionTensors& parameters,
                           const at::Tensor& scores, const at::Tensor& mask,
                           const at::Tensor& dropout);

/// The cross-attention block on x [B, Sq, D] and memory [B, Sk, Dm]; an undefined memory_norm is
/// none.
at::Tensor fused_cross_attention(const BlockContext& context, const CrossAttentionShape& shape,
                                 const at::Tensor& x, const at::Tensor& memory,
                                 const AttentionTensors& parameters, const NormTensors& memory_norm,
                                 const at::Tensor& scores, const at::Tensor& mask,
                                 const at::Tensor& dropout);

}  // namespace headway::training::detail
