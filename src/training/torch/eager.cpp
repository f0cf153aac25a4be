#include "training/torch/eager.hpp"

#include <cmath>

namespace headway::training::detail {
namespace {

using at::Tensor;

constexpr double kNormEpsilon = 1e-6;
constexpr double kFarBelow = -1e30;  // any score; exp of it is 0

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
Tensor visible_pairs(const AttentionShape& n, bool is_causal, const Tensor& mask, const Tensor& x) {
  Tensor visible;
  if (mask.defined()) visible = mask.to(at::kBool).view({n.batch, 1, 1, n.keys});
  if (!is_causal) return visible;
  const Tensor causal = at::ones({n.queries, n.keys}, x.options().dtype(at::kBool))
                            .tril(n.keys - n.queries)
                            .view({1, 1, n.queries, n.keys});
  return visible.defined() ? at::logical_and(visible, causal) : causal;
}

Tensor weights_of(Normalisation normalisation, Tensor s, const Tensor& visible) {
  if (normalises_over_keys(normalisation)) {
    if (!visible.defined()) return at::softmax(s, 3);
    // Not -infinity: a query that sees no key has weights 0, and gradients that are numbers.
    const Tensor hidden = at::logical_not(visible);
    return at::softmax(s.masked_fill(hidden, kFarBelow), 3).masked_fill(hidden, 0.0);
  }
  if (visible.defined()) s = s.masked_fill(at::logical_not(visible), 0.0);
  switch (normalisation) {
    case Normalisation::kRmsHead:
      return s / at::sqrt(at::mean(at::square(s), {1}, true) + kRmsHeadEpsilon);
    case Normalisation::kNone:
    case Normalisation::kSoftmax:  // done above
      break;
  }
  return s;
}

// b [B, H, Sq, S], v [B, S, H, dv]; [B, Sq, H, dv].
Tensor attended(const AttentionOptions& options, const Tensor& b, const Tensor& v,
                const Tensor& mixing) {
  if (!is_generated(options.value_network)) {
    return at::einsum("bhqk,bkhe->bqhe", {b, apply(options.nonlinearity, v)});
  }
  Tensor u = at::einsum("bhqk,bkhe->bqke", {b, v});
  if (has_mixing(options.value_network)) {
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

// Where queries come from, and keys and values; the place of the first query where keys are at 0.
struct Attended {
  Tensor queries, keys;
  Index first;
  bool rotary;
};
// What acts on pairs; undefined where there is none of it.
struct PairTensors {
  Tensor scores, mask, dropout;
};

Tensor attend(const AttentionShape& n, const AttentionOptions& options, const Attended& in,
              const AttentionTensors& p, const PairTensors& pairs, Tensor* weights) {
  Tensor q = project(in.queries, p.query, p.query_bias);
  Tensor k = project(in.keys, p.key, p.key_bias);
  const Tensor v = project(in.keys, p.value, p.value_bias);
  if (in.rotary) {
    q = turned(q, in.first);
    k = turned(k, 0);
  }
  Tensor s = at::einsum("bqhd,bkhd->bhqk", {q, k}) / std::sqrt(static_cast<double>(n.query_dim));
  if (pairs.scores.defined()) s = s + pairs.scores;
  const Tensor a =
      weights_of(options.normalisation, s, visible_pairs(n, options.causal, pairs.mask, q));
  if (weights != nullptr) *weights = a;
  const Tensor o = attended(options, pairs.dropout.defined() ? a * pairs.dropout : a, v, p.mixing)
                       .reshape({n.batch, n.queries, n.heads * n.value_dim});
  return at::linear(o, p.output, p.output_bias);
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
  const Attended in = {z.narrow(1, first, n.queries), z, first, shape.rotary};
  return x.narrow(1, first, n.queries) +
         attend(n, shape.options, in, p, {scores, mask, dropout}, weights);
}

Tensor eager_cross_attention(const CrossAttentionShape& shape, const Tensor& x,
                             const Tensor& memory, const AttentionTensors& p,
                             const NormTensors& memory_norm, const Tensor& scores,
                             const Tensor& mask, const Tensor& dropout, Tensor* weights) {
  AttentionOptions options = shape.options;
  options.causal = false;
  const Attended in = {eager_norm(shape.centred, x, p.norm),
                       eager_norm(shape.centred, memory, memory_norm), shape.attention.keys,
                       shape.rotary};
  return x + attend(shape.attention, options, in, p, {scores, mask, dropout}, weights);
}

}  // namespace headway::training::detail
