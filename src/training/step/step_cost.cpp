#include "headway/training/attention_variant.hpp"
#include "training/step/step_operations.hpp"

namespace headway::training::detail {
namespace {

constexpr Index kFloat = 4;  // bytes
constexpr Index kBf16 = 2;

double number(Index count) { return static_cast<double>(count); }

/// Bytes that pass, and nothing else.
StepCost bytes(Index count, int launches = 1) { return {0.0, number(count), launches}; }
StepCost floats(Index count, int launches = 1) { return bytes(kFloat * count, launches); }

/// Of one number that is summed in floats, and written rounded for products as well.
Index with_rounded(const OfRuns<Bf16>& rounded) {
  return kFloat + (rounded == nullptr ? 0 : kBf16);
}

struct Cost {
  StepCost operator()(const StepProduct& p) const {
    const Index out = p.rows * p.columns;
    Index passed =
        p.batch * (p.rows * p.inner * p.left.data.bytes() +
                   p.inner * p.columns * p.right.data.bytes() + out * p.out.data.bytes());
    if (!(p.added.data == nullptr)) passed += p.batch * out * p.added.data.bytes();
    if (!(p.kept == nullptr)) passed += out * p.kept.bytes();
    StepCost cost = bytes(passed);
    cost.flops = 2.0 * number(p.batch) * number(out) * number(p.inner);
    return cost;
  }
  StepCost operator()(const StepRounding& r) const {
    Index count = 0;
    for (const auto& part : r.parts) count += part.count;
    return bytes((kFloat + kBf16) * count, launches_of(r));
  }
  StepCost operator()(const StepNorm& n) const {
    const Index added = n.added.to == nullptr ? 0 : 2 * kFloat;
    return bytes((kFloat + n.y.bytes() + added) * n.rows * n.dim);
  }
  StepCost operator()(const StepNormGradient& n) const {
    const Index base = n.base == nullptr ? 0 : kFloat;
    return bytes((kFloat + n.dy.bytes() + base + with_rounded(n.rounded)) * n.rows * n.dim +
                 2 * kFloat * n.groups * n.dim);
  }
  template <typename Parts>
  static int launches_of(const Parts& operation) {
    return static_cast<int>((operation.parts.size() + Parts::kMostParts - 1) / Parts::kMostParts);
  }
  StepCost operator()(const StepColumnSums& s) const {
    Index count = 0;
    for (const auto& part : s.parts) {
      count += (part.rows * part.x.bytes() + part.groups * kFloat) * part.columns;
    }
    return bytes(count, launches_of(s));
  }
  StepCost operator()(const StepSwiglu& s) const {
    return bytes(3 * s.active.bytes() * s.rows * s.dim);
  }
  StepCost operator()(const StepSwigluGradient& s) const {
    return bytes(5 * s.d_both.bytes() * s.rows * s.dim);
  }
  StepCost operator()(const StepGates& g) const {
    const Index balance = g.chosen == nullptr ? 0 : 2 * kFloat;
    return bytes((kFloat + with_rounded(g.rounded) + balance) * g.rows * g.experts);
  }
  StepCost operator()(const StepExpertShares& s) const { return floats(s.rows * s.experts); }
  StepCost operator()(const StepSwap& s) const {
    Index passed = 0;
    for (const auto& part : s.parts) passed += kFloat + part.to.bytes();
    return bytes(passed * s.first * s.second * s.inner);
  }
  StepCost operator()(const StepScaledCopies& s) const {
    Index count = 0;
    for (const auto& part : s.parts) {
      count += (part.copies * part.to.bytes() + kFloat) * part.count;
    }
    return bytes(count);
  }
  template <typename Attention>
  static StepCost path_attention(const Attention& a, double passes) {
    const Index heads = a.layers * a.examples * a.heads;
    StepCost cost = bytes(heads * a.tokens * (a.tokens * kFloat + 2 * a.dim * a.projected.bytes()));
    cost.bytes *= passes;
    cost.flops = 2.0 * passes * number(heads * a.tokens * a.tokens) * number(a.dim);
    return cost;
  }
  StepCost operator()(const StepPathAttention& a) const { return path_attention(a, 1.0); }
  StepCost operator()(const StepPathAttentionGradient& a) const { return path_attention(a, 2.0); }
  template <typename Rows>
  static StepCost path_rows(const Rows& r, Index size, double passes) {
    const Index heads = r.examples * r.heads;
    StepCost cost = bytes(heads * r.tokens * (r.tokens * kFloat + r.rows * size) +
                          r.examples * r.rows * r.tokens * size);
    cost.bytes *= passes;
    cost.flops = 2.0 * passes * number(heads * r.rows) * number(r.tokens * r.tokens);
    return cost;
  }
  StepCost operator()(const StepPathRows& r) const { return path_rows(r, r.out.bytes(), 1.0); }
  StepCost operator()(const StepPathRowsGradient& r) const {
    return path_rows(r, r.d_out.bytes(), 2.0);
  }
  StepCost operator()(const StepScaledExperts& s) const {
    return bytes(s.rows * s.experts * (2 * s.hidden * s.scaled.bytes() + kFloat));
  }
  StepCost operator()(const StepScaledExpertsGradient& s) const {
    return bytes(s.rows * s.experts * (3 * s.hidden * s.d_hidden.bytes() + 3 * kFloat));
  }
  StepCost operator()(const StepGatesGradient& g) const {
    const Index likely = g.likely == nullptr ? 0 : kFloat;
    return bytes((2 * kFloat + likely + g.d_logits.bytes()) * g.rows * g.experts);
  }
  StepCost operator()(const StepLookUp& l) const { return floats(2 * l.rows * l.dim); }
  StepCost operator()(const StepLookUpGradient& l) const {
    return floats((l.rows + l.entries) * l.dim + l.rows * l.entries);
  }
  StepCost operator()(const StepSomeTokens& l) const {
    return floats(2 * l.examples * l.wanted * l.dim);
  }
  StepCost operator()(const StepSomeTokensGradient& l) const {
    return bytes(l.examples *
                 (l.tokens * l.dim * with_rounded(l.rounded) + l.wanted * l.dim * kFloat +
                  l.tokens * l.cleared_columns * l.cleared.bytes()));
  }
  StepCost operator()(const StepBlocks& b) const {
    Index count = 0;
    for (const auto& part : b.parts) count += 2 * part.rows * part.columns;
    return floats(count);
  }
  StepCost operator()(const StepRotation& r) const {
    return bytes(4 * r.rows * r.heads * r.half * r.x.bytes());
  }
  StepCost operator()(const StepPositions& p) const {
    Index count = 0;
    for (const auto& layer : p.layers) count += p.heads * layer.queries * layer.keys;
    return floats(count);
  }
  StepCost operator()(const StepCopySums& s) const {
    Index count = 0;
    for (const auto& part : s.parts) {
      count += (part.copies * kFloat + part.out.bytes()) * part.count;
    }
    return bytes(count);
  }
  StepCost operator()(const StepPositionsGradient& p) const {
    Index count = 0;
    for (const auto& layer : p.layers) count += p.heads * layer.queries * layer.keys;
    return floats(count);
  }
  static Index attention_bytes(const GpuAttentionLayer& layer) {
    const AttentionShape& n = layer.shape;
    return n.batch * n.heads * (n.queries + n.keys) * (n.query_dim + n.value_dim) *
           (layer.arithmetic == GpuArithmetic::kBf16 ? kBf16 : kFloat);
  }
  StepCost operator()(const StepAttention& a) const {
    StepCost cost = bytes(attention_bytes(a.layer));
    cost.flops = 2.0 * count_multiply_adds(a.layer.shape, a.layer.options).forward;
    return cost;
  }
  static int launches_of_gradient(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan) {
    if (plan.kernel != GpuAttentionKernel::kLarge) return plan.over_keys > 0 ? 2 : 1;
    const Index chunk = plan.backward.chunk_queries;  // each has two launches
    const auto chunks = static_cast<int>((layer.shape.queries + chunk - 1) / chunk);
    return 2 * chunks + (normalises_over_keys(layer.options.normalisation) ? 1 : 0);
  }
  StepCost operator()(const StepAttentionGradient& a) const {
    const GpuAttentionPlan& plan = a.plan;
    const Index sums = plan.query_sums + plan.bias_sums + plan.mixing_sums + plan.over_keys;
    StepCost cost =
        bytes(2 * attention_bytes(a.layer) + kFloat * sums, launches_of_gradient(a.layer, plan));
    const MultiplyAdds count = count_multiply_adds(a.layer.shape, a.layer.options);
    cost.flops = 2.0 * (count.backward + count.recomputed);
    return cost;
  }
  StepCost operator()(const StepQuerySums& s) const {
    return bytes((s.copies * kFloat + s.to.bytes()) * s.rows * s.dim);
  }
  StepCost operator()(const StepLoss& l) const {
    return bytes((kFloat + l.dy.bytes()) * l.rows * l.outputs + kFloat * l.rows);
  }
  StepCost operator()(const StepSums& s) const {
    return floats(s.copies_size / s.runs + s.losses_count + s.blocks * StepSums::kNumbersOfBlock);
  }
  StepCost operator()(const StepUpdate& u) const {
    return floats(7 * u.blocks * StepSums::kNumbersOfBlock);
  }
};

}  // namespace

StepCost cost_of(const StepOperation& operation) {
  return std::visit(
      [](const auto& one) {
        StepCost cost = Cost{}(one);
        if constexpr (requires { one.runs; }) {  // else it is of all runs
          cost.flops *= number(one.runs);
          cost.bytes *= number(one.runs);
        }
        return cost;
      },
      operation);
}

}  // namespace headway::training::detail
