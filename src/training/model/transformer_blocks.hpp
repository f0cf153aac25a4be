// The blocks of a transformer on the CPU, forward and backward, without LibTorch: each fuses a
// norm, its matrix products and what lies between, over rows that stay in the cache. The same bits
// come out on any number of threads. Rows are dense; weights are [out, in].
#pragma once

#include <cstdint>
#include <vector>

#include "headway/training/attention.hpp"
#include "training/kernels/cpu/row_kernels.hpp"

namespace headway::training::detail {

/// C = op(A) op(B) + beta C, row-major, op(A) [m, k], op(B) [k, n], on the calling thread alone.
using MatrixProduct = void (*)(bool transpose_a, bool transpose_b, Index m, Index n, Index k,
                               const float* a, Index lda, const float* b, Index ldb, float beta,
                               float* c, Index ldc);

struct BlockContext {
  MatrixProduct product = nullptr;
  const RowKernels* kernels = nullptr;
  int threads = 1;
};

/// The gradient of a block's output, given, and of its input, overwritten.
struct PassedBack {
  const float* dy = nullptr;
  float* dx = nullptr;
};

/// A norm's parameters, or their gradients; scale = null: no norm.
template <typename Float>
struct NormArrays {
  Float* scale = nullptr;
  Float* bias = nullptr;  ///< null for RMSNorm
};

/// y [rows, out] = norm(x) W^T + b, x [rows, in].
struct LinearShape {
  Index rows, in, out;
  bool centred = true;  ///< the kind of norm, if there is one
};
template <typename Float>
struct LinearArrays {
  NormArrays<Float> norm;
  Float* weight = nullptr;
  Float* bias = nullptr;
};
/// stats: [rows, 2], written where there is a norm.
void linear_forward(const BlockContext& context, const LinearShape& shape,
                    const LinearArrays<const float>& parameters, const float* x, float* y,
                    float* stats);
/// What a forward pass read and kept.
struct LinearPass {
  const float* x = nullptr;
  const float* stats = nullptr;
};
/// dx may be null: not wanted.
void linear_backward(const BlockContext& context, const LinearShape& shape,
                     const LinearArrays<const float>& parameters, const LinearPass& pass,
                     const PassedBack& passed, const LinearArrays<float>& gradients);

/// y = x + W_down phi(W_up norm(x) + b_up) + b_down, phi = gelu; or, with a gate and no biases,
/// y = x + W_down (silu(W_gate norm(x)) * W_up norm(x)). `residual` false: without x +.
struct FeedForwardShape {
  Index rows, dim, hidden;
  bool centred = true;
  bool gated = false;
  bool residual = true;
};
template <typename Float>
struct FeedForwardArrays {
  NormArrays<Float> norm;
  Float* gate = nullptr;  ///< [hidden, dim]; gated only
  Float* up = nullptr;    ///< [hidden, dim]
  Float* up_bias = nullptr;
  Float* down = nullptr;  ///< [dim, hidden]
  Float* down_bias = nullptr;
};
/// What the backward pass needs: stats [rows, 2]; hidden [rows, hidden] before the nonlinearity, of
/// the gate and of up one after the other where gated.
struct FeedForwardSaved {
  float* stats = nullptr;
  float* hidden = nullptr;
};
void feed_forward_forward(const BlockContext& context, const FeedForwardShape& shape,
                          const FeedForwardArrays<const float>& parameters, const float* x,
                          float* y, const FeedForwardSaved& saved);
struct FeedForwardPass {
  const float* x = nullptr;
  FeedForwardSaved saved;
};
void feed_forward_backward(const BlockContext& context, const FeedForwardShape& shape,
                           const FeedForwardArrays<const float>& parameters,
                           const FeedForwardPass& pass, const PassedBack& passed,
                           const FeedForwardArrays<float>& gradients);

/// y [B, Sq, D] = x' + W_out attention(norm x' W_q, norm x W_k, norm x W_v) + b_out, where x' are
/// the last Sq tokens of x [B, S, D].
struct AttentionBlockShape {
  AttentionShape attention;  ///< keys = S, queries = Sq
  AttentionOptions options;
  Index dim = 1;
  bool centred = true;
  bool rotary = false;
};
template <typename Float>
struct AttentionBlockArrays {
  NormArrays<Float> norm;
  Float* query = nullptr;  ///< weights [H d, D], biases [H d]
  Float* query_bias = nullptr;
  Float* key = nullptr;
  Float* key_bias = nullptr;
  Float* value = nullptr;
  Float* value_bias = nullptr;
  Float* output = nullptr;  ///< [D, H dv]
  Float* output_bias = nullptr;
  Float* mixing = nullptr;  ///< [H, dv, dv]; hyla_deep only
  Float* scores = nullptr;  ///< [H, Sq, S], added to the scores; or null
};
/// Not learned: x; mask [B, S] and dropout [Sq, S] or null.
struct AttentionBlockGiven {
  const float* x = nullptr;
  const std::uint8_t* mask = nullptr;
  const float* dropout = nullptr;
};
struct AttentionBlockSaved {
  float* stats = nullptr;        ///< [B, S, 2]
  float* query = nullptr;        ///< [B, Sq, H, d]
  float* key = nullptr;          ///< [B, S, H, d]
  float* value = nullptr;        ///< [B, S, H, dv]
  float* output = nullptr;       ///< [B, Sq, H, dv]
  float* log_sum_exp = nullptr;  ///< [B, H, Sq]; softmax only
};
void attention_block_forward(const BlockContext& context, const AttentionBlockShape& shape,
                             const AttentionBlockArrays<const float>& parameters,
                             const AttentionBlockGiven& given, float* y,
                             const AttentionBlockSaved& saved);
struct AttentionBlockPass {
  AttentionBlockGiven given;
  AttentionBlockSaved saved;
};
void attention_block_backward(const BlockContext& context, const AttentionBlockShape& shape,
                              const AttentionBlockArrays<const float>& parameters,
                              const AttentionBlockPass& pass, const PassedBack& passed,
                              const AttentionBlockArrays<float>& gradients);

/// RoPE: in each head of the row at place t, dims i and i + d/2 are turned by the angle
/// t 10000^(-2 i / d).
class RotaryTable {
 public:
  /// dim = d, even; for places 0, ..., places - 1.
  RotaryTable(Index places, Index dim);
  /// Turns rows [count, heads, d] at first_place, first_place + 1, ... in place; backwards where
  /// `inverse`, which is also the gradient's way.
  void turn(Index count, Index heads, Index first_place, bool inverse, float* rows) const;

 private:
  Index half_;
  std::vector<float> cosines_, sines_;  // [places, d / 2]
};

}  // namespace headway::training::detail
