// A block with attention weights, norms and gates frozen: linear maps of streams, split by heads.
#pragma once

#include <vector>

#include "training/model/transformer_reference.hpp"

namespace headway::training::reference {

/// The rows of queries that are wanted.
struct QueryRange {
  Index first, count;
};

/// phi(u) / u of every pair in every layer of a generated value network (eqs. 6 and 7), or of the
/// values of every head (eq. 5).
struct FrozenGates {
  RowMatrixXd values;               ///< plain: [S, H dv]
  std::vector<RowMatrixXd> layers;  ///< HYLA: of u, and of u2 where it is deep; each [Sq S, dv]
};

class FrozenBlock {
 public:
  /// `block` and `trace` must outlive it. Gates are made for the queries in `queries`.
  FrozenBlock(const Transformer& model, const BlockParameters& block, const BlockTrace& trace,
              QueryRange queries);

  /// What each head adds to the wanted tokens, given a part [S, D] of the stream that enters; each
  /// [count, D]. A generated value network has parts (h, g), or (h_1, h_2, g) where it is deep, the
  /// head that reads fastest. `biases`: those of norm and values act too.
  [[nodiscard]] std::vector<RowMatrixXd> heads(const RowMatrixXd& stream, bool biases) const;
  /// What the feed-forward network adds, given the part [count, D] of what enters it at the wanted
  /// tokens.
  [[nodiscard]] RowMatrixXd feed_forward(const RowMatrixXd& stream, bool biases) const;

  /// Head indices of a part of heads(): 1, 2 (HYLA) or 3 (deep). There are H^depth parts.
  [[nodiscard]] int depth() const;

 private:
  [[nodiscard]] RowMatrixXd values(const RowMatrixXd& stream, bool biases) const;
  [[nodiscard]] double weight(Index h, Index q, Index k) const;
  void make_gates();
  [[nodiscard]] RowMatrixXd projected(const RowMatrixXd& read, Index head) const;
  void add_generated(const RowMatrixXd& generated, Index q, std::size_t first,
                     std::vector<RowMatrixXd>* parts) const;

  const BlockParameters& block_;
  const BlockTrace& trace_;
  QueryRange queries_;
  AttentionOptions options_;
  Index heads_, value_dim_, tokens_;
  FrozenGates gates_;
};

/// norm x with the factors of the trace; without `biases` linear in x.
RowMatrixXd frozen_norm(const NormParameters& norm, const VectorXd& factors, const RowMatrixXd& x,
                        bool biases);

}  // namespace headway::training::reference
