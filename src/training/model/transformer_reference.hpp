// A transformer by its definition (src/training/README.md, eqs. 1 to 9), one example at a time and
// in double precision, with everything between: what the engine is checked against, and what its
// contributions are taken from.
#pragma once

#include <cstdint>
#include <vector>

#include "headway/training/trainer.hpp"
#include "headway/types.hpp"

namespace headway::training::reference {

struct NormParameters {
  bool centred = true;  ///< layer norm; else RMS norm, whose bias is 0
  VectorXd scale, bias;
};

struct AttentionParameters {
  NormParameters norm;
  RowMatrixXd query, key, value;  ///< [H d, D], [H d, D], [H dv, D]
  VectorXd query_bias, key_bias, value_bias;
  RowMatrixXd output;  ///< [D, H dv]
  VectorXd output_bias;
  std::vector<double> mixing;  ///< [H, dv, dv]; hyla_deep only
  RowMatrixXd positions;       ///< [buckets, H]; relative positions only
};

/// One network of a mixture, or the only one. swiglu: with `gate`, biases 0.
struct ExpertParameters {
  RowMatrixXd gate, up, down;
  VectorXd up_bias, down_bias;
};

struct BlockParameters {
  AttentionParameters attention;
  NormParameters feed_forward_norm;
  RowMatrixXd router;  ///< [E, D]; mixture only
  std::vector<ExpertParameters> experts;
};

struct Transformer {
  TransformerOptions options;  ///< widened
  TaskFormat format;
  RowMatrixXd embedding;    ///< numbers: [D, F]; ids: [V, D]
  VectorXd embedding_bias;  ///< 0 for ids
  std::vector<BlockParameters> blocks;
  NormParameters norm;
  RowMatrixXd logits;  ///< [O, D]
  VectorXd logits_bias;
};

/// Error{kBadData} when the parameters are not those of such a model (join_tensors); kBadStudy for
/// a model with an encoder, or a linear-value network.
Transformer make_transformer(const TransformerOptions& options, const TaskFormat& format,
                             const std::vector<NamedTensor>& parameters);

/// norm x, and the factor of each token that a frozen norm keeps: 1 / sqrt(variance + epsilon), or
/// of the mean square.
struct NormedTokens {
  RowMatrixXd tokens;
  VectorXd factors;
};

/// A network of the mixture at every token: output = weight (factor * (W_1 z + b_1)) with factor =
/// gelu(u) / u, or silu(W_g z); 0 where a token does not take the network.
struct ExpertTrace {
  VectorXd weight;     ///< [S]
  RowMatrixXd factor;  ///< [S, M]
};

struct BlockTrace {
  RowMatrixXd entered;  ///< [S, D]
  NormedTokens attention_norm;
  std::vector<double> weights;  ///< a, [H, S, S]
  RowMatrixXd values;           ///< v, [S, H dv]
  RowMatrixXd between;          ///< [S, D], what enters the feed-forward network
  NormedTokens feed_forward_norm;
  std::vector<ExpertTrace> experts;
};

struct Trace {
  std::vector<BlockTrace> blocks;
  RowMatrixXd left;  ///< [S, D], after the last block
  NormedTokens norm;
  RowMatrixXd outputs;  ///< [S, O]
};

/// Example `index` of `batch`. Cost: that of the definitions, far above the engine's.
Trace trace_example(const Transformer& model, const TaskBatch& batch, Index index);

/// The stream after an attention with parameters `p`, given the stream [S, D] that enters it at
/// example `index`.
RowMatrixXd attention_between(const Transformer& model, const AttentionParameters& p,
                              const TaskBatch& batch, Index index, const RowMatrixXd& entered);

/// phi(u) / u; phi'(0) at 0.
double frozen_gate(Nonlinearity phi, double u);

}  // namespace headway::training::reference
