#include "headway/training/attention_variant.hpp"
#include "training/step/step_operations.hpp"

namespace headway::training::detail {
namespace {

constexpr double kFloat = 4.0;  // bytes

double number(Index count) { return static_cast<double>(count); }

/// Floats that pass, and nothing else.
StepCost floats(Index count, int launches = 1) { return {0.0, kFloat * number(count), launches}; }

struct Cost {
  StepCost operator()(const StepProduct& p) const {
    const Index out = p.rows * p.columns;
    Index passed = p.batch * (p.rows * p.inner + p.inner * p.columns + out);
    if (!(p.added.data == nullptr)) passed += p.batch * out;
    if (!(p.kept == nullptr)) passed += out;
    StepCost cost = floats(passed);
    cost.flops = 2.0 * number(p.batch) * number(out) * number(p.inner);
    return cost;
  }
  StepCost operator()(const StepNorm& n) const { return floats(2 * n.rows * n.dim); }
  StepCost operator()(const StepNormGradient& n) const {
    return floats((n.base == nullptr ? 3 : 4) * n.rows * n.dim + 2 * n.groups * n.dim);
  }
  StepCost operator()(const StepColumnSums& s) const {
    Index count = 0;
    for (const auto& part : s.parts) count += (part.rows + part.groups) * part.columns;
    return floats(count, static_cast<int>((s.parts.size() + StepColumnSums::kMostParts - 1) /
                                          StepColumnSums::kMostParts));
  }
  StepCost operator()(const StepSwiglu& s) const { return floats(3 * s.rows * s.dim); }
  StepCost operator()(const StepSwigluGradient& s) const { return floats(5 * s.rows * s.dim); }
  StepCost operator()(const StepGates& g) const {
    return floats((g.chosen == nullptr ? 2 : 4) * g.rows * g.experts);
  }
  StepCost operator()(const StepExpertShares& s) const { return floats(s.rows * s.experts); }
  StepCost operator()(const StepSwap& s) const {
    return floats(2 * static_cast<Index>(s.parts.size()) * s.first * s.second * s.inner);
  }
  StepCost operator()(const StepScaledCopies& s) const {
    Index count = 0;
    for (const auto& part : s.parts) count += (part.copies + 1) * part.count;
    return floats(count);
  }
  template <typename Attention>
  static StepCost path_attention(const Attention& a, double passes) {
    const Index heads = a.layers * a.examples * a.heads;
    StepCost cost = floats(heads * a.tokens * (a.tokens + 2 * a.dim));
    cost.bytes *= passes;
    cost.flops = 2.0 * passes * number(heads * a.tokens * a.tokens) * number(a.dim);
    return cost;
  }
  StepCost operator()(const StepPathAttention& a) const { return path_attention(a, 1.0); }
  StepCost operator()(const StepPathAttentionGradient& a) const { return path_attention(a, 2.0); }
  template <typename Rows>
  static StepCost path_rows(const Rows& r, double passes) {
    const Index heads = r.examples * r.heads;
    StepCost cost = floats(heads * r.tokens * (r.tokens + r.rows) + r.examples * r.rows * r.tokens);
    cost.bytes *= passes;
    cost.flops = 2.0 * passes * number(heads * r.rows) * number(r.tokens * r.tokens);
    return cost;
  }
  StepCost operator()(const StepPathRows& r) const { return path_rows(r, 1.0); }
  StepCost operator()(const StepPathRowsGradient& r) const { return path_rows(r, 2.0); }
  StepCost operator()(const StepScaledExperts& s) const {
    return floats(s.rows * s.experts * (2 * s.hidden + 1));
  }
  StepCost operator()(const StepScaledExpertsGradient& s) const {
    return floats(s.rows * s.experts * (3 * s.hidden + 3));
  }
  StepCost operator()(const StepGatesGradient& g) const {
    return floats((g.likely == nullptr ? 3 : 4) * g.rows * g.experts);
  }
  StepCost operator()(const StepLookUp& l) const { return floats(2 * l.rows * l.dim); }
  StepCost operator()(const StepLookUpGradient& l) const {
    return floats((l.rows + l.entries) * l.dim + l.rows * l.entries);
  }
  StepCost operator()(const StepSomeTokens& l) const {
    return floats(2 * l.examples * l.wanted * l.dim);
  }
  StepCost operator()(const StepSomeTokensGradient& l) const {
    return floats(l.examples * ((l.tokens + l.wanted) * l.dim + l.tokens * l.cleared_columns));
  }
  StepCost operator()(const StepBlocks& b) const {
    Index count = 0;
    for (const auto& part : b.parts) count += 2 * part.rows * part.columns;
    return floats(count);
  }
  StepCost operator()(const StepRotation& r) const { return floats(4 * r.rows * r.heads * r.half); }
  StepCost operator()(const StepPositions& p) const {
    Index count = 0;
    for (const auto& layer : p.layers) count += p.heads * layer.queries * layer.keys;
    return floats(count);
  }
  StepCost operator()(const StepCopySums& s) const {
    Index count = 0;
    for (const auto& part : s.parts) count += (part.copies + 1) * part.count;
    return floats(count);
  }
  StepCost operator()(const StepPositionsGradient& p) const {
    Index count = 0;
    for (const auto& layer : p.layers) count += p.heads * layer.queries * layer.keys;
    return floats(count);
  }
  static Index attention_floats(const AttentionShape& n) {
    return n.batch * n.heads *
           (n.queries * (n.query_dim + n.value_dim) + n.keys * (n.query_dim + n.value_dim));
  }
  StepCost operator()(const StepAttention& a) const {
    StepCost cost = floats(attention_floats(a.layer.shape));
    cost.flops = 2.0 * count_multiply_adds(a.layer.shape, a.layer.options).forward;
    return cost;
  }
  StepCost operator()(const StepAttentionGradient& a) const {
    const GpuAttentionPlan& plan = a.plan;
    StepCost cost = floats(2 * attention_floats(a.layer.shape) + plan.query_sums + plan.bias_sums +
                               plan.mixing_sums + plan.over_keys,
                           plan.over_keys > 0 ? 2 : 1);
    const MultiplyAdds count = count_multiply_adds(a.layer.shape, a.layer.options);
    cost.flops = 2.0 * (count.backward + count.recomputed);
    return cost;
  }
  StepCost operator()(const StepQuerySums& s) const {
    return floats((s.copies + 1) * s.rows * s.dim);
  }
  StepCost operator()(const StepLoss& l) const { return floats(2 * l.rows * l.outputs + l.rows); }
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
