#pragma once

#include "headway/core/examples.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/types.hpp"

namespace headway::model {

/// Under hardmax a logit ties with its query's largest one, l, if it is at most this fraction of
/// |l| below l. Equal logits may come out of a matrix product with different rounding.
inline constexpr double kHardmaxTie = 1e-12;

/// Turns logits into attention, in place: each column holds one query's logits over its keys.
///   softmax: a_t = exp(l_t - max l) / sum_t exp(l_t - max l)
///   hardmax: equal shares of 1 over the keys of the largest logit (the limit beta -> infinity)
/// Returns false, and leaves `logits` alone, when a logit is not finite.
[[nodiscard]] bool attention_from_logits(AttentionKind kind, numerics::MatrixRef logits);

/// H_l of a layer given by weights or by query and key matrices.
int head_count(const LayerHeads& layer);

/// Throws Error{kBadData} unless `layer` (number `number`, from 1, for the message) holds
/// `heads` >= 1 heads that act on `features` inputs.
void validate_layer(const LayerHeads& layer, int number, int heads, Index features);

}  // namespace headway::model
