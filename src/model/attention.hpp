#pragma once

#include <cstdint>
#include <vector>

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

/// Attention of every head of a layer on one example (eqs. 5 and 6): one S x S matrix
/// [query, key] a head, rows summing to one. `inputs` is S x N_0, one token a row; `mask` is empty
/// or has S entries, 1 for a real token: padded keys get no attention and the rows of padded
/// queries are zero. For whole data sets use path_features(), which holds no more than it needs.
/// Errors: kBadData when the heads do not fit the inputs, no token is real or a logit is not
/// finite. Cost: 2 S N_0 (S + N_0) flops a head given by weights.
std::vector<MatrixXd> layer_attention(const Eigen::Ref<const RowMatrixXd>& inputs,
                                      const LayerHeads& layer, AttentionKind kind,
                                      const std::vector<std::uint8_t>& mask = {});

/// H_l of a layer given by weights or by query and key matrices.
int head_count(const LayerHeads& layer);

/// Throws Error{kBadData} unless `layer` (number `number`, from 1, for the message) holds
/// `heads` >= 1 heads that act on `features` inputs.
void validate_layer(const LayerHeads& layer, int number, int heads, Index features);

}  // namespace headway::model
