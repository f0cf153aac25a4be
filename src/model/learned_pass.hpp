#pragma once

#include <utility>
#include <vector>

#include "headway/model/learned_attention.hpp"
#include "headway/numerics/dense.hpp"
#include "model/token_block.hpp"

/// Private to learned attention: a block of examples, and what a pass over it leaves.
namespace headway::model {

using ConstMap = Eigen::Map<const MatrixXd>;
using Map = Eigen::Map<MatrixXd>;

// --- a block of examples -------------------------------------------------------------------------

struct LearnedAttention::Block : TokenBlock {
  std::vector<Index> taken;   // columns of the tokens that the readout takes; empty: all
  MatrixXd taken_tokens;      // these tokens; empty: all
  std::vector<Index> square;  // where the attention of an example begins: sum of n_b^2 before it
  MatrixXd readout;           // r: one column, an entry for each token; empty where one is taken
  // supplied[l][h]: attention of a frozen head, if the examples give it, as in Pass::attention.
  std::vector<std::vector<std::vector<double>>> supplied;

  [[nodiscard]] bool takes_all() const { return taken.empty(); }
  // First query of an example in a layer, and their number.
  [[nodiscard]] Index first_query(Index b, bool top) const {
    return top && !takes_all() ? b : first(b);
  }
  [[nodiscard]] Index queries(Index b, bool top) const {
    return top && !takes_all() ? 1 : length(b);
  }
  [[nodiscard]] Index attention_offset(Index b, bool top) const {
    return top && !takes_all() ? first(b) : square[static_cast<std::size_t>(b)];
  }
  [[nodiscard]] Index attention_size(bool top) const { return attention_offset(count, top); }
  [[nodiscard]] const MatrixXd& query_tokens(bool top) const {
    return top && !takes_all() ? taken_tokens : tokens;
  }
  // Reads the attention of the frozen heads of a layer that has no matrices. Error{kBadData} if
  // a real token attends to a padded one.
  void read_supplied(SourceReader& reader, const AttentionPrior& prior, std::size_t layer);
};

// What one pass over a block leaves.
struct LearnedAttention::Pass {
  // attention[l][h]: of example b a matrix keys x queries.
  std::vector<std::vector<std::vector<double>>> attention;
  // weights[l]: path weights below layer l + 1, of example b a matrix n_b x p_{l+1}; and their
  // slope, in the backward pass.
  std::vector<std::vector<double>> weights, weights_slope;
  // kQueriesKeys: W_Q x of the queries and W_K x of the keys, by layer and head.
  std::vector<std::vector<MatrixXd>> left, right;
  MatrixXd key_sums, slope;  // room of the backward pass
  bool has_given = false;    // the attention of frozen heads is there: it does not depend on z

  [[nodiscard]] ConstMap attention_of(const Block& block, std::size_t layer, int head, Index b,
                                      bool top) const {
    return {
        attention[layer][static_cast<std::size_t>(head)].data() + block.attention_offset(b, top),
        block.length(b), block.queries(b, top)};
  }
  Map attention_of(const Block& block, std::size_t layer, int head, Index b, bool top) {
    return {
        attention[layer][static_cast<std::size_t>(head)].data() + block.attention_offset(b, top),
        block.length(b), block.queries(b, top)};
  }
  Map weights_of(std::vector<std::vector<double>>& all, const Block& block, std::size_t layer,
                 Index b, Index paths) const {
    return {all[layer].data() + block.first(b) * paths, block.length(b), paths};
  }
};

struct LearnedAttention::Workspace::Parts {
  std::vector<Pass> passes;
  MatrixXd gradients;  // d x groups
};

}  // namespace headway::model
