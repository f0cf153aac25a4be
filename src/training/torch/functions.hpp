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
/// What is added to the scores [H, Sq, S], which keys are hidden [B, S] (uint8), and dropout [Sq,
/// S]. Each may be undefined.
struct ScoreTensors {
  at::Tensor scores, mask, dropout;
};
/// The attention block on x [B, S, D], for the last shape.attention.queries tokens.
at::Tensor fused_attention(const BlockContext& context, const AttentionBlockShape& shape,
                           const at::Tensor& x, const AttentionTensors& parameters,
                           const ScoreTensors& pairs);

/// The tokens [B, Sk, Dm] that a cross-attention looks at; an undefined norm is none.
struct MemoryTensors {
  at::Tensor x;
  NormTensors norm;
};
/// The cross-attention block on x [B, Sq, D] and a memory.
at::Tensor fused_cross_attention(const BlockContext& context, const CrossAttentionShape& shape,
                                 const at::Tensor& x, const MemoryTensors& memory,
                                 const AttentionTensors& parameters, const ScoreTensors& pairs);

}  // namespace headway::training::detail
