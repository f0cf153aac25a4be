#include "training/torch/model.hpp"

#include <fmt/format.h>

#include "training/torch/eager.hpp"
#include "training/torch/matrix_product.hpp"

namespace headway::training::detail {

using at::Tensor;

TransformerModel::TransformerModel(const EngineSetup& setup, const std::vector<Tensor>& parameters)
    : setup_(setup),
      context_{matrix_product(), &row_kernels(), setup.threads},
      fused_(setup.device == Device::kCpu && !setup.eager),
      centred_(setup.model.norm == Norm::kLayerNorm) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters_.emplace(setup.shapes[i].name, parameters[i]);
  }
}

// Undefined where the model has none of this name.
Tensor TransformerModel::parameter(const std::string& name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? Tensor() : found->second;
}

NormTensors TransformerModel::norm(const std::string& name) const {
  return {parameter(name + ".scale"), parameter(name + ".bias")};
}

Tensor TransformerModel::embed(const Tensor& x) const {
  const Tensor weight = parameter("embedding.weight");
  if (setup_.format.features == 0) return at::embedding(weight, x);
  const Tensor bias = parameter("embedding.bias");
  if (fused_) return fused_linear(context_, centred_, x, {}, weight, bias);
  return at::linear(x, weight, bias);
}

// The learned numbers of the distances, [H, queries, keys]; undefined without relative positions.
Tensor TransformerModel::scores(const std::string& layer, Index queries, Index keys) const {
  const Tensor table = parameter(layer + "positions");
  if (!table.defined()) return {};
  std::vector<std::int64_t> buckets;
  for (Index q = keys - queries; q < keys; ++q) {
    for (Index k = 0; k < keys; ++k) {
      buckets.push_back(relative_position_bucket(q - k, table.size(0)));
    }
  }
  const Tensor index = at::tensor(buckets, at::kLong).to(table.device());
  return table.index_select(0, index).view({queries, keys, table.size(1)}).permute({2, 0, 1});
}

Tensor TransformerModel::attention(Index layer, const Tensor& x, Index queries,
                                   const ModelInput& input, Tensor* weights) const {
  const TransformerOptions& n = setup_.model;
  const std::string prefix = fmt::format("layers.{}.", layer + 1);
  const Index keys = x.size(1);
  AttentionBlockShape shape;
  shape.attention = {
      x.size(0), n.heads, queries, keys, n.query_dim / n.heads, n.value_dim / n.heads};
  shape.options = n.attention_options();
  shape.dim = n.model_dim;
  shape.centred = centred_;
  shape.rotary = n.positions == Positions::kRotary;
  const auto p = [&](const char* name) { return parameter(prefix + name); };
  const AttentionTensors parameters = {norm(prefix + "attention_norm"),
                                       p("query.weight"),
                                       p("query.bias"),
                                       p("key.weight"),
                                       p("key.bias"),
                                       p("value.weight"),
                                       p("value.bias"),
                                       p("output.weight"),
                                       p("output.bias"),
                                       p("mixing")};
  const Tensor pairs = scores(prefix, queries, keys);
  Tensor dropout;
  if (input.dropout.defined()) {
    dropout = input.dropout.select(0, layer).narrow(0, keys - queries, queries).contiguous();
  }
  if (!fused_ || weights != nullptr) {
    return eager_attention(shape, x, parameters, pairs, input.mask, dropout, weights);
  }
  return fused_attention(context_, shape, x, parameters, pairs, input.mask, dropout);
}

Tensor TransformerModel::feed_forward(Index layer, const Tensor& x) const {
  const std::string prefix = fmt::format("layers.{}.", layer + 1);
  if (setup_.model.feed_forward == FeedForward::kMixture) return mixture(prefix, x);
  const auto p = [&](const char* name) { return parameter(prefix + name); };
  const FeedForwardTensors parameters = {norm(prefix + "feed_forward_norm"),
                                         p("gate.weight"),
                                         p("up.weight"),
                                         p("up.bias"),
                                         p("down.weight"),
                                         p("down.bias")};
  return fused_ ? fused_feed_forward(context_, centred_, true, x, parameters)
                : eager_feed_forward(centred_, true, x, parameters);
}

// x + sum_e gate_e(z) network_e(z), z = norm(x); experts that a token does not take cost nothing.
Tensor TransformerModel::mixture(const std::string& layer, const Tensor& x) const {
  const auto p = [&](const char* name) { return parameter(layer + name); };
  const Tensor z = eager_norm(centred_, x, norm(layer + "feed_forward_norm")).flatten(0, 1);
  const Tensor logits = at::linear(z, p("router.weight"));
  const Index experts = logits.size(1);
  const Index active = setup_.model.active_experts == 0 ? experts : setup_.model.active_experts;
  const auto [largest, chosen] = at::topk(logits, active, 1);
  const Tensor gates = at::softmax(largest, 1);
  const auto up = p("up.weight").unbind(0);
  const auto up_bias = p("up.bias").unbind(0);
  const auto down = p("down.weight").unbind(0);
  const auto down_bias = p("down.bias").unbind(0);
  Tensor sum = at::zeros_like(z);
  for (Index e = 0; e < experts; ++e) {
    const auto place = at::where(chosen == e);  // tokens, and which of their gates
    if (place[0].numel() == 0) continue;
    const auto i = static_cast<std::size_t>(e);
    const FeedForwardTensors network = {{}, {}, up[i], up_bias[i], down[i], down_bias[i]};
    const Tensor in = z.index_select(0, place[0]);
    const Tensor out = fused_ ? fused_feed_forward(context_, centred_, false, in, network)
                              : eager_feed_forward(centred_, false, in, network);
    const Tensor gate = gates.index({place[0], place[1]}).unsqueeze(1);
    sum = at::index_add(sum, 0, place[0], (out * gate).to(sum.scalar_type()));
  }
  return x + sum.view_as(x);
}

Tensor TransformerModel::outputs(const ModelInput& input) const {
  Tensor x = embed(input.x);
  for (Index l = 0; l < setup_.model.layers; ++l) {
    const bool last = l + 1 == setup_.model.layers;
    x = attention(l, x, last ? input.scored : x.size(1), input, nullptr);
    x = feed_forward(l, x);
  }
  const Tensor weight = parameter("logits.weight");
  const Tensor bias = parameter("logits.bias");
  if (fused_) return fused_linear(context_, centred_, x, norm("norm"), weight, bias);
  return at::linear(eager_norm(centred_, x, norm("norm")), weight, bias);
}

std::vector<Tensor> TransformerModel::attention_weights(const ModelInput& input) const {
  std::vector<Tensor> weights(static_cast<std::size_t>(setup_.model.layers));
  Tensor x = embed(input.x);
  for (Index l = 0; l < setup_.model.layers; ++l) {
    x = attention(l, x, x.size(1), input, &weights[static_cast<std::size_t>(l)]);
    x = feed_forward(l, x);
  }
  return weights;
}

}  // namespace headway::training::detail
