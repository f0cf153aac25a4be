#pragma once

#include <cstddef>
#include <cstdint>

#include "headway/training/attention_variant.hpp"

namespace headway::training {

/// Inputs of one attention layer: dense, last index fastest. The scores of unmasked pairs are
///   s[h, q, k] = query_h . key_h / sqrt(d) + bias[h, q, k].
/// Normalisation makes weights a of them. With dropout, dropout[q, k] a[h, q, k] takes the place of
/// a in ValueNetwork. A query that sees no key has output 0. Masked keys have no effect, but must
/// hold finite numbers.
template <typename Scalar>
struct AttentionInputs {
  const Scalar* query = nullptr;           ///< [B, Sq, H, d]
  const Scalar* key = nullptr;             ///< [B, Sk, H, d]
  const Scalar* value = nullptr;           ///< [B, Sk, H, dv]
  const Scalar* bias = nullptr;            ///< [H, Sq, Sk], or null
  const std::uint8_t* key_mask = nullptr;  ///< [B, Sk], 0 hides a key; or null
  const Scalar* dropout = nullptr;         ///< [Sq, Sk], 0 or 1 / (1 - rate); or null
  const Scalar* mixing = nullptr;          ///< M_h, [H, dv, dv]; hyla_deep only
};

/// What the forward pass returns, and the backward pass reads again.
template <typename Scalar>
struct AttentionOutputs {
  Scalar* output = nullptr;  ///< [B, Sq, H, dv]
  /// log sum_k exp s, [B, H, Sq]; +inf where a query sees no key. Softmax only; null otherwise.
  Scalar* log_sum_exp = nullptr;
};

/// What the forward pass returned, and the gradient of a scalar with respect to its output.
template <typename Scalar>
struct AttentionPassedBack {
  AttentionOutputs<const Scalar> outputs;
  const Scalar* d_output = nullptr;  ///< [B, Sq, H, dv]
};

/// Gradients of a scalar, given its gradient d_output [B, Sq, H, dv]. All are overwritten.
template <typename Scalar>
struct AttentionGradients {
  Scalar* query = nullptr;   ///< [B, Sq, H, d]
  Scalar* key = nullptr;     ///< [B, Sk, H, d]
  Scalar* value = nullptr;   ///< [B, Sk, H, dv]
  Scalar* bias = nullptr;    ///< [H, Sq, Sk], summed over the batch; null: not wanted
  Scalar* mixing = nullptr;  ///< [H, dv, dv], summed over the batch; hyla_deep only
};

/// Fused attention: no array of pairs is kept, only tiles of it. Vector lanes run over examples
/// where the batch is large and the layer small, over queries otherwise; the instruction set is
/// chosen at run time. The same bits come out on any number of threads (0: all cores).
/// Error{kBadStudy} for a bad shape or a missing or superfluous pointer.
/// Cost: count_multiply_adds(...).forward; memory attention_workspace_bytes(...).
void attention_forward(const AttentionShape& shape, const AttentionOptions& options,
                       const AttentionInputs<float>& inputs, const AttentionOutputs<float>& outputs,
                       int threads = 0);

/// Gradients of attention_forward with the same inputs.
/// Cost: backward + recomputed of count_multiply_adds.
void attention_backward(const AttentionShape& shape, const AttentionOptions& options,
                        const AttentionInputs<float>& inputs,
                        const AttentionPassedBack<float>& passed,
                        const AttentionGradients<float>& gradients, int threads = 0);

/// Most memory that the two calls take beside their arguments on this machine. It is linear in
/// queries and keys without bias and dropout. Copies of these, where given, are of the size of
/// their arrays. So are copies of the gradient of the bias: at most 16, within 256 MiB unless one
/// is larger. Each thread keeps its workspace for the next call.
std::size_t attention_workspace_bytes(const AttentionShape& shape, const AttentionOptions& options,
                                      bool with_bias, bool with_dropout, int threads = 0);

/// The instruction set that the kernels use here: "AVX-512", "AVX2" or "baseline".
const char* attention_instruction_set();

}  // namespace headway::training
