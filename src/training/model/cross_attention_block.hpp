// Cross-attention as a block of a transformer on the CPU, forward and backward, without LibTorch.
#pragma once

#include "training/model/transformer_blocks.hpp"

namespace headway::training::detail {

/// y [B, Sq, D] = x + W_out attention(norm x W_q, norm' m W_k, norm' m W_v) + b_out: the queries
/// come from x [B, Sq, D], keys and values from a memory m [B, Sk, Dm] with a norm of its own.
/// attention.keys = Sk and attention.queries = Sq. options.causal is not read: a query sees all of
/// the memory. Rotary positions take the memory for the Sk tokens before those of x.
struct CrossAttentionShape : AttentionBlockShape {
  Index memory_dim = 1;
};
/// Key and value are [H d, Dm] and [H dv, Dm]; block.norm is that of x. Either norm may be missing.
template <typename Float>
struct CrossAttentionArrays {
  AttentionBlockArrays<Float> block;
  NormArrays<Float> memory_norm;
};
/// block.x is x, block.mask [B, Sk], block.dropout [Sq, Sk].
struct CrossAttentionGiven {
  AttentionBlockGiven block;
  const float* memory = nullptr;
};
/// block.stats [B, Sq, 2], block.key and block.value of the memory; the rest as there. The stats of
/// a norm that is missing are null.
struct CrossAttentionSaved {
  AttentionBlockSaved block;
  float* memory_stats = nullptr;  ///< [B, Sk, 2]
};
void cross_attention_forward(const BlockContext& context, const CrossAttentionShape& shape,
                             const CrossAttentionArrays<const float>& parameters,
                             const CrossAttentionGiven& given, float* y,
                             const CrossAttentionSaved& saved);

/// The gradient of the block's output, given, and of both inputs, overwritten.
struct CrossPassedBack {
  PassedBack block;
  float* d_memory = nullptr;
};
struct CrossAttentionPass {
  CrossAttentionGiven given;
  CrossAttentionSaved saved;
};
void cross_attention_backward(const BlockContext& context, const CrossAttentionShape& shape,
                              const CrossAttentionArrays<const float>& parameters,
                              const CrossAttentionPass& pass, const CrossPassedBack& passed,
                              const CrossAttentionArrays<float>& gradients);

}  // namespace headway::training::detail
