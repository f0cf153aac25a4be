#pragma once

#include <functional>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/numerics/dense.hpp"
#include "model/token_block.hpp"

/// Private to model: from the readout down to the tokens, one block of examples at a time.
namespace headway::model {

// The query rows of a layer that the paths above it use, and the weights of those rows.
struct PathWeights {
  std::vector<Index> query;   // columns of the block's tokens; empty stands for all of them
  std::vector<Index> offset;  // example b has queries offset[b] .. offset[b + 1]
  std::vector<MatrixXd>
      weights;  // per example: queries x p_{l+1}, one path (h_{l+1}..h_L) a column

  [[nodiscard]] Index first(Index b) const { return offset[static_cast<std::size_t>(b)]; }
  [[nodiscard]] Index count(Index b) const { return first(b + 1) - first(b); }
  [[nodiscard]] Index paths() const { return weights.front().cols(); }
};

// r: the queries of the last layer that the readout takes, and their weights.
PathWeights readout_weights(const TokenBlock& block, Readout readout);

// What is given, and how it becomes attention.
struct LayerSource {
  SourceReader& reader;
  const std::vector<int>& heads;          // H_1..H_L
  const std::vector<LayerHeads>& layers;  // empty where the examples supply the attention
  AttentionKind kind = AttentionKind::kSoftmax;
};

// Calls use(head, b, attention) for the attention, [key, query], of the queries that `above` names
// in layer `number`, from 1. Error{kBadData} where a logit is not finite, or a query attends to
// padding.
using UseAttention = std::function<void(int, Index, const numerics::ConstMatrixRef&)>;
void for_each_attention(const LayerSource& source, const TokenBlock& block, int number,
                        const PathWeights& above, const UseAttention& use);

// One more layer of eq. 7: w_(h, rest)[t] = sum_s w_rest[s] Omega^h[s, t].
PathWeights descend(const LayerSource& source, const TokenBlock& block, int number,
                    const PathWeights& above);

// Throws Error{kBadData} unless heads, layers and examples fit each other.
void validate_layers(const ExampleSource& examples, const std::vector<int>& heads,
                     const std::vector<LayerHeads>& layers);

// Examples of a block: `requested`, or where it is 0 about 2,000 tokens and 32 MiB of attention.
Index block_examples(const ExampleSource& examples, const std::vector<int>& heads, bool supplied,
                     Index requested);

}  // namespace headway::model
