#include "headway/training/transformer_options.hpp"
#include "training/linear_value_shapes.hpp"
#include "training/named_tensors.hpp"

namespace headway::training {
namespace {

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
  const TransformerOptions n = options.widened();
  const Index norm = (n.norm == Norm::kLayerNorm ? 2 : 1) * n.model_dim;
  const Index embedding =
      format.features > 0 ? (format.features + 1) * n.model_dim : format.vocabulary * n.model_dim;
  Index layer = (n.model_dim + 1) * (2 * n.query_dim + n.value_dim)  // q, k, v
                + (n.value_dim + 1) * n.model_dim                    // output
                + 2 * norm + feed_forward_parameters(n);
  if (n.attention_options().value_network == ValueNetwork::kHylaDeep) {
    layer += n.value_dim * (n.value_dim / n.heads);  // H dv^2
  }
  if (n.positions == Positions::kRelative) {
    layer += (n.position_buckets == 0 ? format.tokens : n.position_buckets) * n.heads;
  }
  return embedding + n.layers * layer + norm + (n.model_dim + 1) * format.outputs;
}

StepFlops flops_per_step(const TransformerOptions& options, const TaskFormat& format, Index batch) {
  if (options.network == NetworkKind::kLinearValue) {
    return detail::linear_value_flops(options, format, batch);
  }
  options.validate();
  format.validate();
  const TransformerOptions n = options.widened();
  const AttentionOptions attention = n.attention_options();
  const auto tokens = static_cast<double>(format.tokens);
  const auto scored = static_cast<double>(format.scored);
  const auto layers = static_cast<double>(n.layers);
  const auto d = static_cast<double>(n.model_dim);
  // Tokens that enter as keys and values, and those that leave a layer, over all layers.
  const double seen = layers * tokens;
  const double kept = (layers - 1) * tokens + scored;
  const auto keys = static_cast<double>(n.query_dim + n.value_dim);
  const double products = seen * d * keys + kept * d * keys +  // k, v; q, output
                          kept * static_cast<double>(feed_forward_multiply_adds(n)) +
                          scored * d * static_cast<double>(format.outputs);
  // Forward, and two products of the same size backward; the inputs need no gradient.
  StepFlops flops;
  flops.linear = 6.0 * products + 4.0 * tokens * d * static_cast<double>(format.features);
  flops.linear *= static_cast<double>(batch);
  const auto pass = [&](Index queries) {
    const MultiplyAdds count = count_multiply_adds(
        {batch, n.heads, queries, format.tokens, n.query_dim / n.heads, n.value_dim / n.heads},
        attention);
    return 2.0 * (count.forward + count.backward);
  };
  flops.attention = (layers - 1) * pass(format.tokens) + pass(format.scored);
  return flops;
}

}  // namespace headway::training
