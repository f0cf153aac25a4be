// From queries, keys and values to what attention returns, in LibTorch's own operations on any
// device: whole arrays of pairs where they are small, chunks of queries that are computed again in
// the backward pass where they are not.
#pragma once

#include "headway/training/attention_variant.hpp"
#include "training/model/transformer_engine.hpp"
#include "training/torch/headers.hpp"

namespace headway::training::detail {

/// What a layer reads beside its sizes; undefined where it has none of it.
struct PairTensors {
  at::Tensor query;  ///< [B, Sq, H, d]
  at::Tensor key;    ///< [B, S, H, d]
  at::Tensor value;  ///< [B, S, H, dv]
  /// Numbers added to the scores, by distance: pair (q, k) has distances[h, first - q + k]. [H, N]
  at::Tensor distances;
  Index first = 0;
  at::Tensor mask;     ///< [B, S], 0 hides a key
  at::Tensor dropout;  ///< [Sq, S], factors of the weights
  at::Tensor mixing;   ///< [H, dv, dv]; hyla_deep only
};

/// The numbers of the distances by pair, [H, queries, keys].
at::Tensor numbers_of_pairs(const PairTensors& in, Index queries, Index keys);

/// o [B, Sq, H, dv] of eqs. 1 to 7. Chunks make memory linear in queries and keys, at the cost of
/// one more forward pass. A causal chunk leaves out the keys to its right. Other chunks change
/// nothing but rounding. `weights`, if not null, gets all of a [B, H, Sq, S] before dropout.
at::Tensor attended_pairs(const AttentionShape& shape, const AttentionOptions& options,
                          const PairTensors& in, const PairMemory& memory, at::Tensor* weights);

}  // namespace headway::training::detail
