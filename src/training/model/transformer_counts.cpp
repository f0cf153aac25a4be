#include <functional>

#include "headway/training/transformer_options.hpp"
#include "training/model/linear_value_shapes.hpp"
#include "training/model/named_tensors.hpp"
#include "training/model/transformer_engine.hpp"

namespace headway::training {
namespace {

/// Flops of a pass of one attention layer for `queries` and `keys`, causal or not.
using AttentionPass = std::function<double(Index queries, Index keys, bool causal)>;

// Numbers of one layer's feed-forward network, without its norm.
Index feed_forward_parameters(const TransformerOptions& n) {
  const Index network = 2 * n.model_dim * n.mlp_dim + n.mlp_dim + n.model_dim;
  switch (n.feed_forward) {
    case FeedForward::kGelu:
      return network;
    case FeedForward::kSwiglu:
      return 3 * n.model_dim * n.mlp_dim;
    case FeedForward::kMixture:
      return n.experts * (network + n.model_dim);
  }
  return 0;
}

// Multiply-adds of one token in one layer's feed-forward network, forward.
Index feed_forward_multiply_adds(const TransformerOptions& n) {
  switch (n.feed_forward) {
    case FeedForward::kGelu:
      return 2 * n.model_dim * n.mlp_dim;
    case FeedForward::kSwiglu:
      return 3 * n.model_dim * n.mlp_dim;
    case FeedForward::kMixture:
      return n.experts * n.model_dim +
             (n.active_experts == 0 ? n.experts : n.active_experts) * 2 * n.model_dim * n.mlp_dim;
  }
  return 0;
}

}  // namespace

Index count_parameters(const TransformerOptions& options, const TaskFormat& format) {
  if (options.network == NetworkKind::kLinearValue) {
    return detail::total_count(detail::linear_value_shapes(options, format));
  }
  options.validate();
  format.validate();
  options.require_context(format);
  const TransformerOptions n = options.widened();
  const Index norm = (n.norm == Norm::kLayerNorm ? 2 : 1) * n.model_dim;
  const Index embedding =
      format.features > 0 ? (format.features + 1) * n.model_dim : format.vocabulary * n.model_dim;
  Index attention = (n.model_dim + 1) * (2 * n.query_dim + n.value_dim)  // q, k, v
                    + (n.value_dim + 1) * n.model_dim;                   // output
  if (has_mixing(n.attention_options().value_network)) {
    attention += n.value_dim * (n.value_dim / n.heads);  // H dv^2
  }
  if (n.positions == Positions::kRelative) {
    attention += (n.position_buckets == 0 ? format.tokens : n.position_buckets) * n.heads;
  }
  const Index block = attention + 2 * norm + feed_forward_parameters(n);
  const Index cross = n.encoder_layers > 0 ? attention + 2 * norm : 0;
  return embedding + n.encoder_layers * block + n.layers * (block + cross) + norm +
         (n.model_dim + 1) * format.outputs;
}

namespace {

// Tokens over all layers, and the pairs that attend.
struct Load {
  double seen = 0.0;   // enter an attention as keys and values
  double asked = 0.0;  // enter one as queries
  double kept = 0.0;   // go through a feed-forward network
  double attention = 0.0;
};

Load one_stream(const TransformerOptions& n, const TaskFormat& format, const AttentionPass& pass) {
  const auto layers = static_cast<double>(n.layers);
  const auto tokens = static_cast<double>(format.tokens);
  Load load;
  load.seen = layers * tokens;
  load.asked = (layers - 1) * tokens + static_cast<double>(format.scored);
  load.kept = load.asked;
  load.attention = (layers - 1) * pass(format.tokens, format.tokens, n.causal) +
                   pass(format.scored, format.tokens, n.causal);
  return load;
}

Load encoder_and_decoder(const TransformerOptions& n, const TaskFormat& format,
                         const AttentionPass& pass) {
  const Index context = format.tokens - format.scored;
  const auto memory = static_cast<double>(context);
  const auto targets = static_cast<double>(format.scored);
  const auto encoder = static_cast<double>(n.encoder_layers);
  const auto decoder = static_cast<double>(n.layers);
  Load load;
  load.seen = encoder * memory + decoder * (targets + memory);
  load.asked = encoder * memory + decoder * 2 * targets;
  load.kept = encoder * memory + decoder * targets;
  load.attention = encoder * pass(context, context, n.causal) +
                   decoder * (pass(format.scored, format.scored, n.causal) +
                              pass(format.scored, context, false));
  return load;
}

}  // namespace

StepFlops flops_per_step(const TransformerOptions& options, const TaskFormat& format, Index batch) {
  if (options.network == NetworkKind::kLinearValue) {
    return detail::linear_value_flops(options, format, batch);
  }
  options.validate();
  format.validate();
  options.require_context(format);
  const TransformerOptions n = options.widened();
  const auto pass = [&](Index queries, Index keys, bool causal) {
    AttentionOptions attention = n.attention_options();
    attention.causal = causal;
    const MultiplyAdds count = count_multiply_adds(
        {batch, n.heads, queries, keys, n.query_dim / n.heads, n.value_dim / n.heads}, attention);
    return 2.0 * (count.forward + count.backward);
  };
  const Load load =
      n.encoder_layers > 0 ? encoder_and_decoder(n, format, pass) : one_stream(n, format, pass);
  const auto d = static_cast<double>(n.model_dim);
  const auto keys = static_cast<double>(n.query_dim + n.value_dim);
  const double products =
      load.seen * d * keys + load.asked * d * keys +  // k, v; q, output
      load.kept * static_cast<double>(feed_forward_multiply_adds(n)) +
      static_cast<double>(format.scored) * d * static_cast<double>(format.outputs);
  // Forward, and two products of the same size backward; the inputs need no gradient.
  StepFlops flops;
  flops.linear = 6.0 * products + 4.0 * static_cast<double>(format.tokens) * d *
                                      static_cast<double>(format.features);
  flops.linear *= static_cast<double>(batch);
  flops.attention = load.attention;
  return flops;
}

namespace detail {

double pair_bytes_of_query(const AttentionShape& n, const AttentionOptions& options) {
  // Arrays of a head: scores, mask, squares, weights, after dropout, and gradients of most.
  double numbers = 10.0 * static_cast<double>(n.heads);
  const auto dims = static_cast<double>(n.value_dim);
  if (is_generated(options.value_network)) numbers += 6.0 * dims;
  if (has_mixing(options.value_network)) numbers += 4.0 * dims * static_cast<double>(n.heads);
  return sizeof(float) * static_cast<double>(n.batch * n.keys) * numbers;
}

}  // namespace detail
}  // namespace headway::training
