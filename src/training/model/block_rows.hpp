#pragma once

#include "training/model/row_pieces.hpp"
#include "training/model/transformer_blocks.hpp"

// What the blocks share: the norm before them, and how partial sums of weights begin.
namespace headway::training::detail {

inline constexpr PartialSums::Begins kProduct = PartialSums::Begins::kProduct;

template <typename Float>
NormRows norm_rows(const NormArrays<Float>& norm, Index rows, Index dim, bool centred) {
  return {rows, dim, norm.scale, norm.bias, centred};
}

// norm(x) of some rows: in a buffer, or x itself where there is no norm.
inline const float* normed(const BlockContext& context, const NormRows& norm, const float* x,
                           float* stats) {
  if (norm.scale == nullptr) return x;
  float* y = thread_buffer(0, norm.rows * norm.dim);
  context.kernels->norm(norm, x, y, stats);
  return y;
}

inline AttentionInputs<float> attention_inputs(const AttentionBlockArrays<const float>& p,
                                               const AttentionBlockGiven& given,
                                               const AttentionBlockSaved& saved) {
  return {saved.query, saved.key, saved.value, p.scores, given.mask, given.dropout, p.mixing};
}

}  // namespace headway::training::detail
