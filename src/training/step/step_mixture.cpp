#include "training/step/step_builder.hpp"

// A mixture of experts, y = x + sum_e gate_e(z) W_2^e gelu(W_1^e z + b_1^e) + b_2^e (eq. 9 of
// src/training/README.md), forward and backward. The matrices W_1^e lie beneath each other, and are
// one. Of the matrices W_2^e one is made that has them beside each other.
namespace headway::training::detail {

void StepBuilder::expert_weights() {
  if (model_.feed_forward != FeedForward::kMixture) return;
  StepSwap w = {model_.experts, dim_, model_.mlp_dim, {}};
  for (const Attention& a : attentions_) {
    if (a.part.crosses) continue;
    const std::string& prefix = a.part.prefix;
    const Numbers to = numbers(prefix + "weights of experts", w.first * w.second * w.inner);
    expert_weights_[prefix] = to;
    w.parts.push_back({value(prefix + "down.weight"), to});
  }
  launch("weights of experts", w);
}

void StepBuilder::gates(FeedForwardPass* pass) {
  const std::string& prefix = pass->prefix;
  const Index experts = model_.experts;
  const Index count = pass->rows * experts;
  const bool balanced = model_.load_balancing > 0.0;
  const Floats logits = floats(prefix + "router", count);
  launch(prefix + "router",
         linear({pass->rows, dim_, experts}, pass->mid_z, prefix + "router.weight", "", logits));
  StepGates g;
  g.rows = pass->rows;
  g.experts = experts;
  g.active = model_.active_experts == 0 ? experts : model_.active_experts;
  g.logits = logits;
  g.gates = pass->gates = floats(prefix + "gates", count);
  g.rounded = rounded(prefix + "rounded gates", count);
  pass->factors = bf16() ? Numbers(g.rounded) : Numbers(g.gates);
  if (balanced) {
    g.chosen = floats(prefix + "choices", count);
    g.likely = pass->likely = floats(prefix + "likely experts", count);
  }
  launch(prefix + "gates", g);
  if (!balanced) return;
  pass->shares = floats(prefix + "shares of experts", experts);
  launch(prefix + "shares of experts",
         StepExpertShares{pass->rows, experts, g.active, g.chosen, pass->shares});
}

ConstFloats StepBuilder::mixture(FeedForwardPass* pass) {
  const std::string& prefix = pass->prefix;
  const Index experts = model_.experts;
  const Index all = experts * model_.mlp_dim;
  gates(pass);
  pass->hidden = numbers(prefix + "hidden", pass->rows * all);
  const Numbers active = numbers(prefix + "active before gates", pass->rows * all);
  StepProduct up = linear({pass->rows, dim_, all}, pass->mid_z, prefix + "up.weight",
                          prefix + "up.bias", active);
  up.end = ProductEnd::kGelu;
  up.kept = pass->hidden;
  launch(prefix + "up", up);
  pass->active = numbers(prefix + "active", pass->rows * all);
  launch(prefix + "gated experts",
         StepScaledExperts{pass->rows, experts, model_.mlp_dim, pass->gates, active, pass->active});

  const Floats y = floats(prefix + "stream", pass->rows * dim_);
  StepProduct biases;  // x + gates b_2
  biases.rows = pass->rows;
  biases.columns = dim_;
  biases.inner = experts;
  biases.left = {pass->factors, experts, 0};
  biases.right = {factor(prefix + "down.bias", experts * dim_), dim_, 0};
  biases.tf32 = tf32();
  biases.added = {pass->mid, dim_, 0};
  biases.out = {y, dim_, 0};
  launch(prefix + "biases of experts", biases);
  pass->weights = expert_weights_.at(prefix);
  StepProduct down = biases;
  down.inner = all;
  down.left = {pass->active, all, 0};
  down.right = {pass->weights, all, 0};
  down.right_transposed = true;
  down.added = {y, dim_, 0};
  launch(prefix + "down", down);
  passes_.push_back(*pass);
  return y;
}

// The gradient of what gelu had; that of the gates is added to d_gates.
Numbers StepBuilder::experts_gradient(const FeedForwardPass& pass, ConstNumbers dx,
                                      Floats d_gates) {
  const std::string& prefix = pass.prefix;
  const Index experts = model_.experts;
  const Index m = model_.mlp_dim;
  const Linear down = {pass.rows, experts * m, dim_};
  const Numbers d_hidden = numbers(prefix + "gradient of hidden", pass.rows * down.in);
  StepProduct p;
  p.rows = pass.rows;
  p.columns = down.in;
  p.inner = dim_;
  p.left = {dx, dim_, 0};
  p.right = {pass.weights, down.in, 0};
  p.tf32 = tf32();
  p.out = {d_hidden, down.in, 0};
  launch(prefix + "gradient before down", p);
  launch(
      prefix + "gradient of gated experts",
      StepScaledExpertsGradient{pass.rows, experts, m, pass.gates, pass.hidden, d_hidden, d_gates});
  // The gradient of the matrices beside each other, [D, E, M]; parameters are [E, D, M].
  const Index copies = weight_copies(pass.rows);
  const std::string weight = prefix + "down.weight";
  const Index first = copies_used_;
  gradient_product(down, dx, pass.active, weight, copies_of(copies, dim_ * down.in));
  for (Index e = 0; e < experts; ++e) {
    for (Index d = 0; d < dim_; ++d) {
      sums_.push_back({first + (d * experts + e) * m, copies, dim_ * down.in, m,
                       offsets_.at(weight) + (e * dim_ + d) * m, shapes_.at(weight)->decayed()});
    }
  }
  return d_hidden;
}

StepBuilder::StreamGradient StepBuilder::mixture_gradient(const FeedForwardPass& pass,
                                                          const StreamGradient& dx) {
  const std::string& prefix = pass.prefix;
  const Index experts = model_.experts;
  const Index rows = pass.rows;
  const Floats d_gates = floats(prefix + "gradient of gates", rows * experts);
  StepProduct of_biases;
  of_biases.rows = rows;
  of_biases.columns = experts;
  of_biases.inner = dim_;
  of_biases.left = {dx.factor, dim_, 0};
  of_biases.right = {factor(prefix + "down.bias", experts * dim_), dim_, 0};
  of_biases.right_transposed = true;
  of_biases.tf32 = tf32();
  of_biases.out = {d_gates, experts, 0};
  launch(prefix + "gradient of gates by biases", of_biases);
  weight_gradient({rows, dim_, experts}, pass.factors, dx.factor, prefix + "down.bias", "");
  const Numbers d_hidden = experts_gradient(pass, dx.factor, d_gates);
  const Numbers d_logits = numbers(prefix + "gradient of router", rows * experts);
  launch(prefix + "gradient of router",
         StepGatesGradient{rows, experts, model_.load_balancing, pass.gates, d_gates, pass.likely,
                           pass.shares, d_logits});
  const Linear up = {rows, dim_, experts * model_.mlp_dim};
  const Linear router = {rows, dim_, experts};
  weight_gradient(up, d_hidden, pass.mid_z, prefix + "up.weight", prefix + "up.bias");
  weight_gradient(router, d_logits, pass.mid_z, prefix + "router.weight", "");
  const Floats dz = floats(prefix + "gradient of feed_forward_norm's output", rows * dim_);
  launch(prefix + "gradient before router", back(router, d_logits, prefix + "router.weight", dz));
  StepProduct before_up = back(up, d_hidden, prefix + "up.weight", dz);
  before_up.added = {dz, dim_, 0};
  launch(prefix + "gradient before up", before_up);
  return norm_gradient(prefix + "feed_forward_norm", {rows, pass.mid, pass.mid_stats}, dz, dx.sum);
}

}  // namespace headway::training::detail
