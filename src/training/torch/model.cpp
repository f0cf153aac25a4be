#include "training/torch/model.hpp"

#include <fmt/format.h>

#include "training/torch/eager.hpp"
#include "training/torch/matrix_product.hpp"

namespace headway::training::detail {

using at::Tensor;

namespace {

// Some of the rows or columns of an array that may be undefined.
Tensor part(const Tensor& x, Index dim, Index first, Index count) {
  return x.defined() ? x.narrow(dim, first, count).contiguous() : x;
}

}  // namespace

TransformerModel::TransformerModel(const EngineSetup& setup, const std::vector<Tensor>& parameters)
    : setup_(setup),
      context_{matrix_product(), &row_kernels(), setup.threads},
      fused_(setup.device == Device::kCpu && !setup.eager),
      centred_(setup.model.norm == Norm::kLayerNorm),
      farthest_(setup.format.tokens - 1),
      device_attention_(setup.gpu_kernels == nullptr && setup.device == Device::kCuda
                            ? built_gpu_kernels()
                            : setup.gpu_kernels,
                        setup.precision, setup.library_attention) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters_.emplace(setup.shapes[i].name, parameters[i]);
  }
  if (setup.model.positions != Positions::kRelative) return;
  const Index buckets =
      setup.model.position_buckets > 0 ? setup.model.position_buckets : setup.format.tokens;
  for (Index distance = farthest_; distance >= -farthest_; --distance) {
    buckets_.push_back(relative_position_bucket(distance, buckets));
  }
  device_buckets_ = at::tensor(buckets_, at::kLong).to(parameters.front().device());
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
  if (setup_.format.features == 0) return at::embedding(weight, x.to(at::kLong));
  const Tensor bias = parameter("embedding.bias");
  if (fused_) return fused_linear(context_, centred_, x, {}, weight, bias);
  // In float32 even if products are bf16, since layers add to it.
  return at::linear(x, weight, bias).to(at::kFloat);
}

AttentionTensors TransformerModel::tensors(const std::string& prefix,
                                           const std::string& norm_name) const {
  const auto p = [&](const char* name) { return parameter(prefix + name); };
  return {norm(prefix + norm_name),
          p("query.weight"),
          p("query.bias"),
          p("key.weight"),
          p("key.bias"),
          p("value.weight"),
          p("value.bias"),
          p("output.weight"),
          p("output.bias"),
          p("mixing")};
}

// The learned numbers of the distances, [H, queries, keys]; undefined without relative positions.
Tensor TransformerModel::scores(const Attention& a) const {
  const Tensor table = parameter(a.prefix + "positions");
  if (!table.defined()) return {};
  std::vector<std::int64_t> buckets;
  buckets.reserve(static_cast<std::size_t>(a.queries * a.keys));
  for (Index q = a.first_query; q < a.first_query + a.queries; ++q) {
    for (Index k = a.first_key; k < a.first_key + a.keys; ++k) {
      buckets.push_back(buckets_[static_cast<std::size_t>(farthest_ - q + k)]);
    }
  }
  const Tensor index = at::tensor(buckets, at::kLong);
  return table.index_select(0, index).view({a.queries, a.keys, table.size(1)}).permute({2, 0, 1});
}

// Looks up the numbers of the distances as an embedding, whose gradient has the same bits every
// time.
EagerPairs TransformerModel::eager_pairs(const Attention& a, const ModelInput& input) const {
  EagerPairs pairs;
  const Tensor table = parameter(a.prefix + "positions");
  if (table.defined()) pairs.tensors.distances = at::embedding(table, device_buckets_).t();
  pairs.tensors.first = farthest_ - a.first_query + a.first_key;
  pairs.tensors.mask = part(input.mask, 1, a.first_key, a.keys);
  pairs.tensors.dropout = dropout(a, input);
  pairs.memory = setup_.pair_memory;
  pairs.fused = &device_attention_;
  return pairs;
}

AttentionBlockShape TransformerModel::block_shape(const Attention& a, Index batch) const {
  const TransformerOptions& n = setup_.model;
  return {{batch, n.heads, a.queries, a.keys, n.query_dim / n.heads, n.value_dim / n.heads},
          n.attention_options(),
          n.model_dim,
          centred_,
          n.positions == Positions::kRotary};
}

Tensor TransformerModel::dropout(const Attention& a, const ModelInput& input) const {
  if (!input.dropout.defined()) return {};
  return part(part(input.dropout.select(0, a.layer), 0, a.first_query, a.queries), 1, a.first_key,
              a.keys);
}

void TransformerModel::put(const Attention& a, const Tensor& w, Index tokens, Weights* weights) {
  if (weights == nullptr) return;
  Tensor& all = weights->at(static_cast<std::size_t>(a.layer));
  if (!all.defined()) all = at::zeros({w.size(0), w.size(1), tokens, tokens}, w.options());
  all.narrow(2, a.first_query, a.queries).narrow(3, a.first_key, a.keys).copy_(w);
}

Tensor TransformerModel::attention(const Attention& a, const Tensor& x, const ModelInput& input,
                                   Weights* weights) const {
  const AttentionBlockShape shape = block_shape(a, x.size(0));
  const AttentionTensors p = tensors(a.prefix, "attention_norm");
  if (fused_ && weights == nullptr) {
    return fused_attention(
        context_, shape, x, p,
        {scores(a), part(input.mask, 1, a.first_key, a.keys), dropout(a, input)});
  }
  Tensor w;
  Tensor y = eager_attention(shape, x, p, eager_pairs(a, input), weights == nullptr ? nullptr : &w);
  put(a, w, input.x.size(1), weights);
  return y;
}

Tensor TransformerModel::cross_attention(const Attention& a, const Tensor& x, const Tensor& memory,
                                         const ModelInput& input, Weights* weights) const {
  const CrossAttentionShape shape = {block_shape(a, x.size(0)), setup_.model.model_dim};
  const AttentionTensors p = tensors(a.prefix, "norm");
  const MemoryTensors read = {memory, norm(a.prefix + "memory_norm")};
  if (fused_ && weights == nullptr) {
    return fused_cross_attention(
        context_, shape, x, read, p,
        {scores(a), part(input.mask, 1, a.first_key, a.keys), dropout(a, input)});
  }
  Tensor w;
  Tensor y = eager_cross_attention(shape, x, read, p, eager_pairs(a, input),
                                   weights == nullptr ? nullptr : &w);
  put(a, w, input.x.size(1), weights);
  return y;
}

Tensor TransformerModel::feed_forward(const std::string& prefix, const Tensor& x,
                                      Tensor* imbalance) const {
  if (setup_.model.feed_forward == FeedForward::kMixture) return mixture(prefix, x, imbalance);
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
Tensor TransformerModel::mixture(const std::string& layer, const Tensor& x,
                                 Tensor* imbalance) const {
  const auto p = [&](const char* name) { return parameter(layer + name); };
  const Tensor z = eager_norm(centred_, x, norm(layer + "feed_forward_norm")).flatten(0, 1);
  const Tensor logits = at::linear(z, p("router.weight"));
  const Index experts = logits.size(1);
  const Index active = setup_.model.active_experts == 0 ? experts : setup_.model.active_experts;
  const auto [largest, chosen] = at::topk(logits, active, 1);
  const Tensor gates = at::softmax(largest, 1);
  if (imbalance != nullptr) {
    const Tensor share = at::one_hot(chosen.flatten(), experts).to(at::kFloat).mean(0);
    const Tensor likely = at::softmax(logits.to(at::kFloat), 1).mean(0);
    const Tensor of_layer = (share * likely).sum() * static_cast<double>(experts);
    *imbalance = imbalance->defined() ? *imbalance + of_layer : of_layer;
  }
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

Tensor TransformerModel::one_stream(const Tensor& embedded, const ModelInput& input,
                                    const Beside& beside) const {
  const Index tokens = embedded.size(1);
  const Index layers = setup_.model.layers;
  Tensor x = embedded;
  for (Index l = 0; l < layers; ++l) {
    const std::string prefix = fmt::format("layers.{}.", l + 1);
    const Index wanted = l + 1 == layers && beside.weights == nullptr ? input.scored : tokens;
    x = attention({prefix, l, tokens - wanted, wanted, 0, tokens}, x, input, beside.weights);
    x = feed_forward(prefix, x, beside.imbalance);
  }
  return x;
}

Tensor TransformerModel::encoder_and_decoder(const Tensor& embedded, const ModelInput& input,
                                             const Beside& beside) const {
  const Index targets = input.scored;
  const Index context = embedded.size(1) - targets;
  const Index encoders = setup_.model.encoder_layers;
  Tensor memory = embedded.narrow(1, 0, context);
  for (Index l = 0; l < encoders; ++l) {
    const std::string prefix = fmt::format("encoder.{}.", l + 1);
    memory = attention({prefix, l, 0, context, 0, context}, memory, input, beside.weights);
    memory = feed_forward(prefix, memory, beside.imbalance);
  }
  Tensor x = embedded.narrow(1, context, targets);
  for (Index l = 0; l < setup_.model.layers; ++l) {
    const std::string prefix = fmt::format("layers.{}.", l + 1);
    const Index layer = encoders + l;
    x = attention({prefix, layer, context, targets, context, targets}, x, input, beside.weights);
    x = cross_attention({prefix + "cross.", layer, context, targets, 0, context}, x, memory, input,
                        beside.weights);
    x = feed_forward(prefix, x, beside.imbalance);
  }
  return x;
}

Tensor TransformerModel::hidden(const ModelInput& input, const Beside& beside) const {
  const Tensor x = embed(input.x);
  return setup_.model.encoder_layers > 0 ? encoder_and_decoder(x, input, beside)
                                         : one_stream(x, input, beside);
}

Tensor TransformerModel::outputs(const ModelInput& input, Tensor* imbalance) const {
  const Tensor x = hidden(input, {nullptr, imbalance});
  const Tensor weight = parameter("logits.weight");
  const Tensor bias = parameter("logits.bias");
  if (fused_) return fused_linear(context_, centred_, x, norm("norm"), weight, bias);
  return at::linear(eager_norm(centred_, x, norm("norm")), weight, bias);
}

std::vector<Tensor> TransformerModel::attention_weights(const ModelInput& input) const {
  Weights weights(static_cast<std::size_t>(setup_.model.all_layers()));
  static_cast<void>(hidden(input, {&weights, nullptr}));
  return weights;
}

}  // namespace headway::training::detail
