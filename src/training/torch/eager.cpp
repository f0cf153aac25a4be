#include "training/torch/eager.hpp"

#include <cmath>
#include <limits>

namespace headway::training::detail {
namespace {

using at::Tensor;

constexpr double kNormEpsilon = 1e-6;

Tensor apply(Nonlinearity phi, const Tensor& x) {
  switch (phi) {
    case Nonlinearity::kIdentity:
      return x;
    case Nonlinearity::kRelu:
      return at::relu(x);
    case Nonlinearity::kGelu:
      return at::gelu(x, "tanh");
    case Nonlinearity::kSilu:
      return at::silu(x);
    case Nonlinearity::kTanh:
      return at::tanh(x);
    case Nonlinearity::kSquaredRelu:
      return at::square(at::relu(x));
  }
  return x;
}

// x [B, T, H, d], at places first, first + 1, ...
Tensor turned(const Tensor& x, Index first) {
  const Index half = x.size(3) / 2;
  const auto numbers = x.options().dtype(at::kDouble);
  const Tensor exponent = at::arange(half, numbers) * (-2.0 / static_cast<double>(2 * half));
  const Tensor place = at::arange(first, first + x.size(1), numbers);
  const Tensor angle = at::outer(place, at::pow(10000.0, exponent)).unsqueeze(1);
  const Tensor c = at::cos(angle).to(x.scalar_type());
  const Tensor s = at::sin(angle).to(x.scalar_type());
  const Tensor a = x.narrow(3, 0, half);
  const Tensor b = x.narrow(3, half, half);
  return at::cat({c * a - s * b, s * a + c * b}, 3);
}

// 1 where query sees key: [B or 1, 1, Sq, S] of bool; undefined when every pair is seen.
Tensor visible_pairs(const AttentionBlockShape& shape, const Tensor& mask, const Tensor& x) {
  const AttentionShape& n = shape.attention;
  Tensor visible;
  if (mask.defined()) visible = mask.to(at::kBool).view({n.batch, 1, 1, n.keys});
  if (!shape.options.causal) return visible;
  const Tensor causal = at::ones({n.queries, n.keys}, x.options().dtype(at::kBool))
                            .tril(n.keys - n.queries)
                            .view({1, 1, n.queries, n.keys});
  return visible.defined() ? at::logical_and(visible, causal) : causal;
}

Tensor weights_of(Normalisation normalisation, Tensor s, const Tensor& visible) {
  if (normalisation == Normalisation::kSoftmax) {
    if (visible.defined()) {
      s = s.masked_fill(at::logical_not(visible), -std::numeric_limits<float>::infinity());
    }
    return at::softmax(s, 3);
  }
  if (visible.defined()) s = s.masked_fill(at::logical_not(visible), 0.0);
  if (normalisation == Normalisation::kNone) return s;
  return s / at::sqrt(at::mean(at::square(s), {1}, true) + kRmsHeadEpsilon);
}

// b [B, H, Sq, S], v [B, S, H, dv]; [B, Sq, H, dv].
Tensor attended(const AttentionOptions& options, const Tensor& b, const Tensor& v,
                const Tensor& mixing) {
  if (options.value_network == ValueNetwork::kPlain) {
    return at::einsum("bhqk,bkhe->bqhe", {b, apply(options.nonlinearity, v)});
  }
  Tensor u = at::einsum("bhqk,bkhe->bqke", {b, v});
  if (options.value_network == ValueNetwork::kHylaDeep) {
    const Tensor mixed = at::einsum("hef,bqkf->bhqke", {mixing, apply(options.nonlinearity, u)});
    u = at::einsum("bhqk,bhqke->bqke", {b, mixed});
  }
  return at::einsum("bhqk,bqke->bqhe", {b, apply(options.nonlinearity, u)});
}

Tensor project(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Index heads = weight.size(0);
  const Index dim = weight.size(1);
  return at::linear(x, weight.view({heads * dim, weight.size(2)}), bias.view({heads * dim}))
      .view({x.size(0), x.size(1), heads, dim});
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
                       const Tensor& scores, const Tensor& mask, const Tensor& dropout,
                       Tensor* weights) {
  const AttentionShape& n = shape.attention;
  const Index first = n.keys - n.queries;
  const Tensor z = eager_norm(shape.centred, x, p.norm);
  Tensor q = project(z.narrow(1, first, n.queries), p.query, p.query_bias);
  Tensor k = project(z, p.key, p.key_bias);
  const Tensor v = project(z, p.value, p.value_bias);
  if (shape.rotary) {
    q = turned(q, first);
    k = turned(k, 0);
  }
  Tensor s = at::einsum("bqhd,bkhd->bhqk", {q, k}) / std::sqrt(static_cast<double>(n.query_dim));
  if (scores.defined()) s = s + scores;
  const Tensor a = weights_of(shape.options.normalisation, s, visible_pairs(shape, mask, x));
  if (weights != nullptr) *weights = a;
  const Tensor o = attended(shape.options, dropout.defined() ? a * dropout : a, v, p.mixing)
                       .reshape({n.batch, n.queries, n.heads * n.value_dim});
  return x.narrow(1, first, n.queries) + at::linear(o, p.output, p.output_bias);
}

}  // namespace headway::training::detail
