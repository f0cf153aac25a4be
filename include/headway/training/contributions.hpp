#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/core/words.hpp"
#include "headway/training/trainer.hpp"
#include "headway/types.hpp"

namespace headway::training {

/// What a layer whose heads generate a value network (HYLA) is split into.
enum class GeneratedParts {
  kHeads,  ///< one part for each head that reads the generated network, whoever generated it
  kPairs,  ///< one part for each head that generates and head that reads (deep: for each triple)
};
Words<GeneratedParts> words_of(GeneratedParts);

/// What a kept layer splits a stream into. A level is what the theory calls a layer of heads: a
/// choice among parts. Layers with a generated value network have more than one (kPairs).
struct ContributionLevels {
  std::vector<int> sizes;                       ///< parts of every level
  std::vector<std::vector<std::string>> names;  ///< of the parts
  /// The head of the network that a part is, as layer * H + head from 0; -1 for the residual stream
  /// and the feed-forward network.
  std::vector<std::vector<int>> heads;

  [[nodiscard]] Index paths() const;
};

/// A trained transformer whose attention weights, norms and gates are frozen, example by example,
/// at what they are (src/training/README.md, eqs. 16 to 19): what is left is linear in the stream
/// that enters the first kept layer, and splits exactly into contributions along paths.
///
/// A kept layer splits a stream into the residual stream, each head and the feed-forward network;
/// layers that are not kept, above the first kept one, carry every contribution as a whole. A
/// factor phi(u) / u freezes a nonlinearity phi. The biases of a layer act on what the first
/// path brings, the one that is the residual stream in every layer below. That of attention's
/// output stays on it, each other is in the part of its head or feed-forward network. So the
/// contributions of an example sum up to what the network's last linear layer reads there.
///
/// kPairs: a layer with a generated value network is linear in the values too, and has the levels
///   {direct, heads that generate} x {residual, heads that read, feed-forward};
/// paths (direct, head) and (head, residual), (head, feed-forward) are 0.
class FrozenNetwork {
 public:
  /// `kept`: layers 1..L, rising. Errors: kBadStudy for a layer that does not exist or comes twice,
  /// an encoder or a linear-value network; kBadData when the parameters (in any order) are not
  /// those of such a model.
  FrozenNetwork(const TransformerOptions& options, const TaskFormat& format,
                const std::vector<NamedTensor>& parameters, std::vector<Index> kept,
                GeneratedParts parts);
  ~FrozenNetwork();
  FrozenNetwork(FrozenNetwork&&) noexcept;
  FrozenNetwork& operator=(FrozenNetwork&&) noexcept;

  [[nodiscard]] const ContributionLevels& levels() const;
  [[nodiscard]] Index features() const;  ///< D
  [[nodiscard]] Index heads() const;     ///< of a layer

  struct Contributions {
    RowMatrixXd parts;   ///< [p, D], paths row-major with the lowest level slowest
    VectorXd embedding;  ///< [D], what the last linear layer reads: the sum of the parts
    VectorXd outputs;    ///< [O], what it makes of it
  };
  /// Of example `index` of `batch` at one token. May be called from several threads. Cost: p times
  /// that of the layers from the first kept one on, one token of the last one.
  [[nodiscard]] Contributions contributions(const TaskBatch& batch, Index index, Index token) const;

  struct Attention {
    RowMatrixXd inputs;                        ///< [S, D]: the first kept layer's normed stream
    std::vector<std::vector<double>> weights;  ///< of every kept layer, [H, S, S]
    VectorXd outputs;                          ///< [O] at `token`
  };
  /// What the theory needs of attention in that example. Attention is signed, with rows of any sum,
  /// unless its weights are normalised over keys.
  [[nodiscard]] Attention attention(const TaskBatch& batch, Index index, Index token) const;

  /// What the outputs [O] at `token` are made of beside the heads of the last layer, where that is
  /// the one layer kept: the residual stream, the feed-forward network and biases. Cost: that of
  /// contributions().
  [[nodiscard]] VectorXd around(const TaskBatch& batch, Index index, Index token) const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace headway::training
