#pragma once

#include <vector>

#include "headway/core/tree_sum.hpp"
#include "headway/gram.hpp"
#include "headway/study.hpp"

/// Private to verbs: the numbers of `gram` as leaves and nodes of a TreeSum.
namespace headway {

/// Number of leaves in which this many examples are summed. It decides the rounding of the sum.
Index gram_leaves(Index examples);

/// As numbers that are added: the lower triangle of the Gram matrix column by column, projection,
/// label_square, examples.
std::vector<double> packed(const GramMatrices& sums);

/// What a part keeps. `columns`: p N_0.
std::vector<GramNode> nodes_of(const TreeSum& sums, Index columns, Index outputs);

/// Gives `result` the sum over all examples. Error{kBadData} when no data can have such a sum.
void set_total(const std::vector<double>& total, Index columns, Index outputs, GramResult& result);

}  // namespace headway
