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

/// o [B, Sq, H, dv] of eqs. 1 to 7. In chunks memory is linear in queries and keys, for one more
/// forward pass (a causal chunk leaves out the keys to its right). The same numbers to rounding;
/// the same bits for the same chunks. `weights`, where not null, gets a [B, H, Sq, S] before
/// dropout, whole.
at::Tensor attended_pairs(const AttentionShape& shape, const AttentionOptions& options,
                          const PairTensors& in, const PairMemory& memory, at::Tensor* weights);

}  // namespace headway::training::detail
