#include "training/model/transformer_parameters.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "headway/core/rng.hpp"
#include "training/model/linear_value_shapes.hpp"

namespace headway::training::detail {
namespace {

// Standard deviation of a standard normal cut off at +-2.
constexpr double kCutDeviation = 0.87962566103423978;

class Shapes {
 public:
  void add(std::string name, std::vector<Index> shape, FirstValues first, double spread = 0.0) {
    shapes_.push_back({prefix_ + std::move(name), std::move(shape), first, spread});
  }
  void kernel(std::string name, std::vector<Index> shape, Index fan_in) {
    add(std::move(name), std::move(shape), FirstValues::kLecun,
        1.0 / std::sqrt(static_cast<double>(fan_in)));
  }
  void bias(std::string name, std::vector<Index> shape) {
    add(std::move(name), std::move(shape), FirstValues::kZero);
  }
  void norm(const std::string& name, const TransformerOptions& n) {
    add(name + ".scale", {n.model_dim}, FirstValues::kOne);
    if (n.norm == Norm::kLayerNorm) bias(name + ".bias", {n.model_dim});
  }
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  std::vector<ParameterShape> take() { return std::move(shapes_); }

 private:
  std::string prefix_;
  std::vector<ParameterShape> shapes_;
};

// Without its norm.
void add_attention(const TransformerOptions& n, const TaskFormat& format, Shapes* out) {
  const Index d = n.query_dim / n.heads;
  const Index dv = n.value_dim / n.heads;
  for (const auto& [name, dim] : {std::pair{"query", d}, {"key", d}, {"value", dv}}) {
    out->kernel(fmt::format("{}.weight", name), {n.heads, dim, n.model_dim}, n.model_dim);
    out->bias(fmt::format("{}.bias", name), {n.heads, dim});
  }
  out->kernel("output.weight", {n.model_dim, n.value_dim}, n.value_dim);
  out->bias("output.bias", {n.model_dim});
  if (has_mixing(n.attention_options().value_network)) {
    out->kernel("mixing", {n.heads, dv, dv}, dv);
  }
  if (n.positions == Positions::kRelative) {
    const Index buckets = n.position_buckets == 0 ? format.tokens : n.position_buckets;
    out->add("positions", {buckets, n.heads}, FirstValues::kNormal,
             1.0 / std::sqrt(static_cast<double>(buckets)));
  }
}

void add_feed_forward(const TransformerOptions& n, Shapes* out) {
  const Index d = n.model_dim;
  const Index m = n.mlp_dim;
  out->norm("feed_forward_norm", n);
  switch (n.feed_forward) {
    case FeedForward::kGelu:
      out->kernel("up.weight", {m, d}, d);
      out->bias("up.bias", {m});
      out->kernel("down.weight", {d, m}, m);
      out->bias("down.bias", {d});
      return;
    case FeedForward::kSwiglu:
      out->kernel("gate.weight", {m, d}, d);
      out->kernel("up.weight", {m, d}, d);
      out->kernel("down.weight", {d, m}, m);
      return;
    case FeedForward::kMixture:
      out->kernel("router.weight", {n.experts, d}, d);
      out->kernel("up.weight", {n.experts, m, d}, d);
      out->bias("up.bias", {n.experts, m});
      out->kernel("down.weight", {n.experts, d, m}, m);
      out->bias("down.bias", {n.experts, d});
      return;
  }
}

void add_block(const TransformerOptions& n, const TaskFormat& format, const std::string& prefix,
               bool crosses, Shapes* out) {
  out->set_prefix(prefix);
  out->norm("attention_norm", n);
  add_attention(n, format, out);
  if (crosses) {
    out->set_prefix(prefix + "cross.");
    out->norm("norm", n);
    out->norm("memory_norm", n);
    add_attention(n, format, out);
    out->set_prefix(prefix);
  }
  add_feed_forward(n, out);
}

double draw(const ParameterShape& shape, Rng* rng) {
  if (shape.first == FirstValues::kUniform) {
    return shape.spread * std::numbers::sqrt3 * (2.0 * rng->uniform() - 1.0);
  }
  double x = rng->normal();
  if (shape.first == FirstValues::kNormal) return shape.spread * x;
  while (std::abs(x) > 2.0) x = rng->normal();
  return shape.spread / kCutDeviation * x;
}

}  // namespace

Index ParameterShape::count() const {
  Index n = 1;
  for (const Index dim : shape) n *= dim;
  return n;
}

std::vector<ParameterShape> parameter_shapes(const TransformerOptions& options,
                                             const TaskFormat& format) {
  if (options.network == NetworkKind::kLinearValue) return linear_value_shapes(options, format);
  options.validate();
  format.validate();
  options.require_context(format);
  const TransformerOptions n = options.widened();
  const double embedding = 1.0 / std::sqrt(static_cast<double>(n.model_dim));
  Shapes shapes;
  if (format.features > 0) {
    const std::vector<Index> shape = {n.model_dim, format.features};
    if (n.embedding_start == EmbeddingStart::kFeatures) {
      shapes.kernel("embedding.weight", shape, format.features);
    } else {
      shapes.add("embedding.weight", shape, FirstValues::kNormal, embedding);
    }
    shapes.bias("embedding.bias", {n.model_dim});
  } else {
    shapes.add("embedding.weight", {format.vocabulary, n.model_dim}, FirstValues::kNormal,
               embedding);
  }
  for (Index l = 1; l <= n.encoder_layers; ++l) {
    add_block(n, format, fmt::format("encoder.{}.", l), false, &shapes);
  }
  for (Index l = 1; l <= n.layers; ++l) {
    add_block(n, format, fmt::format("layers.{}.", l), n.encoder_layers > 0, &shapes);
  }
  shapes.set_prefix("");
  shapes.norm("norm", n);
  shapes.kernel("logits.weight", {format.outputs, n.model_dim}, n.model_dim);
  shapes.bias("logits.bias", {format.outputs});
  return shapes.take();
}

std::vector<NamedTensor> initial_parameters(const std::vector<ParameterShape>& shapes,
                                            std::uint64_t seed) {
  std::vector<NamedTensor> result;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const ParameterShape& shape = shapes[i];
    const auto count = static_cast<std::size_t>(shape.count());
    NamedTensor tensor{shape.name, shape.shape, {}};
    tensor.values.assign(count, shape.first == FirstValues::kOne ? 1.0F : 0.0F);
    if (shape.first == FirstValues::kNormal || shape.first == FirstValues::kUniform ||
        shape.first == FirstValues::kLecun) {
      Rng rng(seed, StreamPurpose::kInitialWeights, i);
      for (float& x : tensor.values) x = static_cast<float>(draw(shape, &rng));
    }
    if (shape.first == FirstValues::kAsBefore) tensor.values = result.back().values;
    result.push_back(std::move(tensor));
  }
  return result;
}

}  // namespace headway::training::detail
