#include "training/torch/eager.hpp"

#include <cmath>

namespace headway::training::detail {
namespace {

using at::Tensor;

constexpr double kNormEpsilon = 1e-6;

// x [B, T, H, d], at places first, first + 1, ...
Tensor turned(const Tensor& x, Index first) {
  const Index half = x.size(3) / 2;
  const auto numbers = x.options().dtype(at::kDouble);
  const Tensor exponent = at::arange(half, numbers) * (-2.0 / static_cast<double>(2 * half));
  const Tensor place = at::arange(first, first + x.size(1), numbers);
  const Tensor angle = at::outer(place, at::pow(10000.0, exponent)).unsqueeze(1);
  const auto type = at::promote_types(x.scalar_type(), at::kFloat);  // bf16 turns in float32
  const Tensor c = at::cos(angle).to(type);
  const Tensor s = at::sin(angle).to(type);
  const Tensor a = x.narrow(3, 0, half);
  const Tensor b = x.narrow(3, half, half);
  return at::cat({c * a - s * b, s * a + c * b}, 3).to(x.scalar_type());
}

Tensor project(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Index heads = weight.size(0);
  const Index dim = weight.size(1);
  return at::linear(x, weight.view({heads * dim, weight.size(2)}), bias.view({heads * dim}))
      .view({x.size(0), x.size(1), heads, dim});
}

// Where queries come from, and keys and values; the place of the first query where keys are at 0.
struct Attended {
  Tensor queries, keys;
  Index first;
  bool rotary;
};
Tensor attend(const AttentionShape& n, const AttentionOptions& options, const Attended& in,
              const AttentionTensors& p, const EagerPairs& pairs, Tensor* weights) {
  PairTensors all = pairs.tensors;
  all.query = project(in.queries, p.query, p.query_bias);
  all.key = project(in.keys, p.key, p.key_bias);
  all.value = project(in.keys, p.value, p.value_bias);
  all.mixing = p.mixing;
  if (in.rotary) {
    all.query = turned(all.query, in.first);
    all.key = turned(all.key, 0);
  }
  Tensor o;
  if (weights == nullptr && pairs.fused != nullptr) o = pairs.fused->attended(n, options, all);
  if (!o.defined()) o = attended_pairs(n, options, all, pairs.memory, weights);
  return at::linear(o.reshape({n.batch, n.queries, n.heads * n.value_dim}), p.output,
                    p.output_bias);
}

}  // namespace

Tensor eager_norm(bool centred, const Tensor& x, const NormTensors& norm) {
  if (!norm.scale.defined()) return x;
  if (centred) {
    return at::layer_norm(x, {x.size(-1)}, norm.scale, norm.bias, kNormEpsilon, false);
  }
  return x * at::rsqrt(at::mean(at::square(x), {-1}, true) + kNormEpsilon) * norm.scale;
}

Tensor eager_feed_forward(bool centred, bool residual, const Tensor& x,
                          const FeedForwardTensors& p) {
  const Tensor z = eager_norm(centred, x, p.norm);
  const Tensor hidden = p.gate.defined() ? at::silu(at::linear(z, p.gate)) * at::linear(z, p.up)
                                         : at::gelu(at::linear(z, p.up, p.up_bias), "tanh");
  const Tensor y =
      p.gate.defined() ? at::linear(hidden, p.down) : at::linear(hidden, p.down, p.down_bias);
  return residual ? x + y : y;
}

Tensor eager_attention(const AttentionBlockShape& shape, const Tensor& x, const AttentionTensors& p,
                       const EagerPairs& pairs, Tensor* weights) {
  const AttentionShape& n = shape.attention;
  const Index first = n.keys - n.queries;
  const Tensor z = eager_norm(shape.centred, x, p.norm);
  const Attended in = {z.narrow(1, first, n.queries), z, first, shape.rotary};
  return x.narrow(1, first, n.queries) + attend(n, shape.options, in, p, pairs, weights);
}

Tensor eager_cross_attention(const CrossAttentionShape& shape, const Tensor& x,
                             const MemoryTensors& memory, const AttentionTensors& p,
                             const EagerPairs& pairs, Tensor* weights) {
  AttentionOptions options = shape.options;
  options.causal = false;
  const Attended in = {eager_norm(shape.centred, x, p.norm),
                       eager_norm(shape.centred, memory.x, memory.norm), shape.attention.keys,
                       shape.rotary};
  return x + attend(shape.attention, options, in, p, pairs, weights);
}

}  // namespace headway::training::detail
