#pragma once

#include <algorithm>
#include <utility>

#include "training/kernels/cuda/step_ends.hpp"
#include "training/kernels/cuda/step_experts.hpp"
#include "training/kernels/cuda/step_norms.hpp"
#include "training/kernels/cuda/step_paths.hpp"
#include "training/kernels/cuda/step_sums.hpp"
#include "training/step/step_operations.hpp"

// From the operations of a step to launches of kernels. A Device has launch(Grid, kernel) and
// bind(pointer), which makes of a pointer what kernels take. Products and attention are not here.
namespace headway::training::HEADWAY_GPU {

template <typename Device>
class StepLaunches {
 public:
  explicit StepLaunches(Device& device) : device_(device) {}

  /// What a library left out of a product.
  void end_of(const detail::StepProduct& p, LeftOut left_out) {
    using detail::ProductEnd;
    if (left_out == LeftOut::kNothing) return;
    const Index count = p.rows * p.columns;
    if (left_out == LeftOut::kEnd && !p.out.data.is_bf16() && count % 4 == 0) {
      return p.end == ProductEnd::kGelu ? gelu_of<ProductEnd::kGelu>(p)
                                        : gelu_of<ProductEnd::kGeluGradient>(p);
    }
    ProductEndKernel k = {};
    k.count = count;
    k.columns = whole(p.columns);
    k.end = p.end;
    if (left_out == LeftOut::kEndAndBias) k.bias = bind(p.bias);
    k.sums = bind(detail::NumbersOfRuns<const float>(library_part(p, left_out).out.data));
    k.kept = bind(p.kept);
    k.out = bind(p.out.data);
    launch(p.runs, of_numbers(count), 1, 0, k);
  }
  /// A product that the device's library does not have.
  void plain_product(const detail::StepProduct& p) {
    PlainProductKernel k = {};
    k.rows = p.rows;
    k.columns = p.columns;
    k.inner = p.inner;
    k.count = p.batch * p.rows * p.columns;
    k.tf32 = p.tf32;
    k.left = {bind(p.left.data), p.left.batch, p.left.row, 1};
    k.right = {bind(p.right.data), p.right.batch, 1, p.right.row};
    if (p.left_transposed) std::swap(k.left.outer, k.left.inner);
    if (p.right_transposed) std::swap(k.right.outer, k.right.inner);
    k.end = p.end;
    k.bias = bind(p.bias);
    k.added = bind(p.added.data);
    k.added_batch = p.added.batch;
    k.added_row = p.added.row;
    k.out_batch = p.out.batch;
    k.out_row = p.out.row;
    k.kept = bind(p.kept);
    k.out = bind(p.out.data);
    launch(p.runs, of_numbers(k.count), 1, 0, k);
  }
  void operator()(const detail::StepRounding& r) {
    for (std::size_t first = 0; first < r.parts.size(); first += RoundingKernel::kMostParts) {
      RoundingKernel k = {};
      Index most = 0;
      int parts = 0;
      while (parts < RoundingKernel::kMostParts && first + parts < r.parts.size()) {
        const auto& from = r.parts[first + parts];
        k.parts[parts++] = {from.count, bind(from.from), bind(from.to)};
        most = std::max(most, from.count);
      }
      constexpr Index kNumbers = RoundingKernel::kNumbers;
      launch(r.runs, whole((most + kNumbers - 1) / kNumbers), parts, 0, k);
    }
  }
  void operator()(const detail::StepNorm& n) {
    NormKernel k = {};
    k.rows = n.rows;
    k.dim = whole(n.dim);
    k.centred = n.centred;
    k.x = bind(n.x);
    k.scale = bind(n.scale);
    k.bias = bind(n.bias);
    k.y = bind(n.y);
    k.stats = bind(n.stats);
    k.sums = bind(n.added.to);
    k.product_bias = bind(n.added.bias);
    k.stream = bind(n.added.stream);
    k.tokens = whole(n.added.tokens);
    k.stream_steps = n.added.steps;
    launch(n.runs, of_rows(n.rows), 1, 0, k);
  }
  void operator()(const detail::StepNormGradient& n) {
    NormGradientKernel k = {};
    k.dim = whole(n.dim);
    k.groups = RowGroups(n.rows, whole(n.groups));
    k.centred = n.centred;
    k.x = bind(n.x);
    k.stats = bind(n.stats);
    k.scale = bind(n.scale);
    k.dy = bind(n.dy);
    k.base = bind(n.base);
    k.dx = bind(n.dx);
    k.rounded = bind(n.rounded);
    k.scale_sums = bind(n.scale_sums);
    k.bias_sums = bind(n.bias_sums);
    device_.launch({whole(n.groups), 1, NormGradientKernel::kMostThreads,
                    bytes(NormGradientKernel::shared_floats(k.dim)), whole(n.runs)},
                   k);
  }
  void operator()(const detail::StepColumnSums& s) {
    for (std::size_t first = 0; first < s.parts.size(); first += ColumnSumsKernel::kMostParts) {
      ColumnSumsKernel k = {};
      int parts = 0;
      int blocks = 0;
      while (parts < ColumnSumsKernel::kMostParts && first + parts < s.parts.size()) {
        const auto& from = s.parts[first + parts];
        const int groups = whole(from.groups);
        k.parts[parts++] = {bind(from.x), whole(from.columns), groups, RowGroups(from.rows, groups),
                            bind(from.sums)};
        const int pieces = ceiling(whole(from.columns), ColumnSumsKernel::kColumns);
        blocks = std::max(blocks, groups * pieces);
      }
      launch(s.runs, blocks, parts, bytes(ColumnsOfBlock::kSharedFloats), k);
    }
  }
  void operator()(const detail::StepSwiglu& s) {
    launch(s.runs, of_numbers(s.rows * s.dim), 1, 0,
           SwigluKernel{s.rows, whole(s.dim), Divisor(s.dim), bind(s.both), bind(s.active)});
  }
  void operator()(const detail::StepSwigluGradient& s) {
    launch(s.runs, of_numbers(s.rows * s.dim), 1, 0,
           SwigluGradientKernel{s.rows, whole(s.dim), Divisor(s.dim), bind(s.both),
                                bind(s.d_active), bind(s.d_both)});
  }
  void operator()(const detail::StepGates& g) {
    launch(g.runs, of_numbers(g.rows), 1, 0,
           GatesKernel{g.rows, whole(g.experts), whole(g.active), bind(g.logits), bind(g.gates),
                       bind(g.chosen), bind(g.likely), bind(g.rounded)});
  }
  void operator()(const detail::StepExpertShares& s) {
    launch(s.runs, whole(s.experts), 1, bytes(kStepThreads),
           ExpertSharesKernel{s.rows, whole(s.experts), whole(s.active), bind(s.chosen),
                              bind(s.shares)});
  }
  void operator()(const detail::StepSwap& s) {
    SwapKernel k = {};
    k.first = whole(s.first);
    k.second = whole(s.second);
    k.inner = whole(s.inner);
    int parts = 0;
    for (const auto& part : s.parts) k.parts[parts++] = {bind(part.from), bind(part.to)};
    launch(s.runs, of_numbers(s.first * s.second * s.inner), parts, 0, k);
  }
  void operator()(const detail::StepScaledCopies& s) {
    ScaledCopiesKernel k = {};
    Index most = 0;
    int parts = 0;
    for (const auto& part : s.parts) {
      k.parts[parts++] = {part.count, whole(part.copies), static_cast<float>(part.factor),
                          bind(part.from), bind(part.to)};
      most = std::max(most, part.count);
    }
    launch(s.runs, of_numbers(most), parts, 0, k);
  }
  void operator()(const detail::StepPathAttention& a) {
    launch(a.runs, whole(a.examples * a.heads), whole(a.layers), 0,
           PathAttentionKernel{whole(a.examples), whole(a.tokens), whole(a.heads), whole(a.dim),
                               bind(a.projected), bind(a.omega)});
  }
  void operator()(const detail::StepPathAttentionGradient& a) {
    launch(a.runs, whole(a.examples * a.heads), whole(a.layers), 0,
           PathAttentionGradientKernel{whole(a.examples), whole(a.tokens), whole(a.heads),
                                       whole(a.dim), bind(a.projected), bind(a.omega),
                                       bind(a.d_omega), bind(a.d_projected)});
  }
  void operator()(const detail::StepPathRows& r) {
    launch(r.runs, of_numbers(r.examples * r.heads * r.rows * r.tokens), 1, 0,
           PathRowsKernel{r.examples, whole(r.tokens), whole(r.heads), whole(r.rows), bind(r.above),
                          bind(r.omega), bind(r.out)});
  }
  void operator()(const detail::StepPathRowsGradient& r) {
    const Index most = r.examples * r.tokens * std::max(r.heads * r.tokens, r.rows);
    launch(r.runs, of_numbers(most), r.d_above == nullptr ? 1 : 2, 0,
           PathRowsGradientKernel{r.examples, whole(r.tokens), whole(r.heads), whole(r.rows),
                                  bind(r.above), bind(r.omega), bind(r.d_out), bind(r.d_omega),
                                  bind(r.d_above)});
  }
  void operator()(const detail::StepScaledExperts& s) {
    launch(s.runs, of_numbers(s.rows * s.experts * s.hidden), 1, 0,
           ScaledExpertsKernel{s.rows * s.experts, whole(s.hidden), bind(s.gates), bind(s.active),
                               bind(s.scaled)});
  }
  void operator()(const detail::StepScaledExpertsGradient& s) {
    launch(s.runs, of_rows(s.rows * s.experts), 1, kTeamBytes,
           ScaledExpertsGradientKernel{s.rows * s.experts, whole(s.hidden), bind(s.gates),
                                       bind(s.before), bind(s.d_hidden), bind(s.d_gates)});
  }
  void operator()(const detail::StepGatesGradient& g) {
    const double balance = g.balance * static_cast<double>(g.experts) / static_cast<double>(g.rows);
    launch(g.runs, of_numbers(g.rows), 1, 0,
           GatesGradientKernel{g.rows, whole(g.experts), static_cast<float>(balance), bind(g.gates),
                               bind(g.d_gates), bind(g.likely), bind(g.shares), bind(g.d_logits)});
  }
  void operator()(const detail::StepLookUp& l) {
    launch(
        l.runs, of_numbers(l.rows * l.dim), 1, 0,
        LookUpKernel{l.rows, whole(l.dim), Divisor(l.dim), bind(l.ids), bind(l.table), bind(l.y)});
  }
  void operator()(const detail::StepLookUpGradient& l) {
    using Kernel = LookUpGradientKernel;
    launch(l.runs, whole(l.entries), ceiling(whole(l.dim), Kernel::kColumns),
           bytes(kTeams * Kernel::kIdsOfWarp) + bytes(kTeams * Kernel::kColumns),
           Kernel{l.rows, whole(l.dim), bind(l.ids), bind(l.dy), bind(l.d_table)});
  }
  void operator()(const detail::StepSomeTokens& l) {
    launch(l.runs, of_numbers(l.examples * l.wanted * l.dim), 1, 0,
           SomeTokensKernel{l.examples, whole(l.tokens), whole(l.first), whole(l.wanted),
                            whole(l.dim), Divisor(l.wanted * l.dim), bind(l.from), bind(l.to)});
  }
  void operator()(const detail::StepSomeTokensGradient& l) {
    launch(l.runs, of_numbers(l.examples * l.tokens * (l.dim + l.cleared_columns)), 1, 0,
           SomeTokensGradientKernel{l.examples, whole(l.tokens), whole(l.first), whole(l.wanted),
                                    whole(l.dim), whole(l.cleared_columns), whole(l.cleared_row),
                                    Divisor(l.dim + l.cleared_columns), Divisor(l.tokens),
                                    bind(l.from), bind(l.base), bind(l.to), bind(l.rounded),
                                    bind(l.cleared)});
  }
  void operator()(const detail::StepBlocks& b) {
    BlocksKernel k = {};
    Index most = 0;
    int parts = 0;
    for (const auto& part : b.parts) {
      k.parts[parts++] = {part.rows, part.row, whole(part.columns), bind(part.from), bind(part.to)};
      most = std::max(most, part.rows * part.columns);
    }
    launch(b.runs, of_numbers(most), parts, 0, k);
  }
  void operator()(const detail::StepRotation& r) {
    launch(r.runs, of_numbers(r.rows * r.heads * r.half), 1, 0,
           RotationKernel{r.rows, whole(r.tokens), whole(r.row), whole(r.heads), whole(r.half),
                          Divisor(r.heads * r.half), Divisor(r.half), Divisor(r.tokens),
                          r.backward ? -1.0F : 1.0F, bind(r.table), bind(r.x)});
  }
  void operator()(const detail::StepQuerySums& s) {
    launch(1, of_numbers(s.rows * s.dim), 1, 0,
           QuerySumsKernel{s.rows, whole(s.dim), whole(s.copies), whole(s.tokens), s.steps,
                           bind(s.from), bind(s.to)});
  }
  void operator()(const detail::StepPositions& p) {
    PositionsKernel k = {};
    k.heads = whole(p.heads);
    k.farthest = whole(p.farthest);
    k.bucket_of = bind(p.bucket_of);
    Index most = 0;
    int layers = 0;
    for (const auto& layer : p.layers) {
      k.layers[layers++] = {whole(layer.queries), whole(layer.keys), whole(layer.first),
                            bind(layer.table), bind(layer.out)};
      most = std::max(most, p.heads * layer.queries * layer.keys);
    }
    launch(p.runs, of_numbers(most), layers, 0, k);
  }
  void operator()(const detail::StepCopySums& s) {
    CopySumsKernel k = {};
    Index most = 0;
    int parts = 0;
    for (const auto& part : s.parts) {
      k.parts[parts++] = {whole(part.copies), static_cast<float>(part.factor), part.count,
                          bind(part.from), bind(part.out)};
      most = std::max(most, part.count);
    }
    constexpr Index kColumns = CopySumsKernel::kColumns;
    launch(s.runs, whole((most + kColumns - 1) / kColumns), parts,
           bytes(ColumnsOfBlock::kSharedFloats), k);
  }
  void operator()(const detail::StepPositionsGradient& p) {
    PositionsGradientKernel k = {};
    k.heads = whole(p.heads);
    k.buckets = whole(p.buckets);
    k.farthest = whole(p.farthest);
    k.bucket_of = bind(p.bucket_of);
    int layers = 0;
    for (const auto& layer : p.layers) {
      k.layers[layers++] = {whole(layer.queries), whole(layer.keys), whole(layer.first),
                            bind(layer.d_scores), bind(layer.d_table)};
    }
    const int distances = 2 * k.farthest + 1;
    launch(p.runs, k.heads, layers,
           bytes(PositionsGradientKernel::slices_of(distances) * distances) + bytes(distances), k);
  }
  void operator()(const detail::StepLoss& l) {
    const double terms = static_cast<double>(l.classes == nullptr ? l.rows * l.outputs : l.rows);
    launch(l.runs, of_rows(l.rows), 1, 2 * kTeamBytes,
           LossKernel{l.rows, whole(l.outputs), static_cast<float>(1.0 / terms), bind(l.y),
                      bind(l.targets), bind(l.classes), bind(l.losses), bind(l.dy)});
  }
  void operator()(const detail::StepSums& s) {
    launch(s.runs, whole(s.blocks) + 1, 1, bytes(2 * kTeams) + bytes(ColumnsOfBlock::kSharedFloats),
           SumsKernel{whole(s.blocks), bind(s.table), bind(s.copies), bind(s.gradients),
                      bind(s.squares), s.losses_count, s.loss_scale, bind(s.losses), bind(s.loss)});
  }
  void operator()(const detail::StepUpdate& u) {
    UpdateKernel k = {};
    k.blocks = whole(u.blocks);
    k.table = bind(u.table);
    k.gradients = bind(u.gradients);
    k.squares = bind(u.squares);
    k.loss = bind(u.loss);
    k.numbers = bind(u.numbers);
    k.first = bind(u.first);
    k.second = bind(u.second);
    k.values = bind(u.values);
    k.history = bind(u.history);
    k.most_norm = u.most_norm;
    k.beta_1 = static_cast<float>(u.beta_1);
    k.beta_2 = static_cast<float>(u.beta_2);
    k.rest_1 = static_cast<float>(1.0 - u.beta_1);
    k.rest_2 = static_cast<float>(1.0 - u.beta_2);
    k.epsilon = static_cast<float>(u.epsilon);
    launch(u.runs, std::min(k.blocks, UpdateKernel::kMostBlocks), 1, 2 * bytes(2 * kTeams), k);
  }

 private:
  static constexpr int bytes(int floats) { return (floats * 4 + 15) / 16 * 16; }
  static constexpr int kTeamBytes = bytes(kStepThreads) + bytes(kTeams);
  static int whole(Index n) { return static_cast<int>(n); }
  static int of_rows(Index rows) { return static_cast<int>((rows + kTeams - 1) / kTeams); }
  static int of_numbers(Index count) {
    return static_cast<int>((count + kStepThreads - 1) / kStepThreads);
  }
  template <detail::ProductEnd end>
  void gelu_of(const detail::StepProduct& p) {
    const Index fours = p.rows * p.columns / 4;
    launch(p.runs, of_numbers(fours), 1, 0,
           GeluKernel<end>{fours, bind(detail::OfRuns<const float>(p.kept.floats)),
                           bind(p.out.data.floats)});
  }
  template <typename T>
  Global<T> bind(T* pointer) {
    return device_.bind(pointer);
  }
  template <typename T>
  ArrayOfRuns<T> bind(const detail::OfRuns<T>& array) {
    return {device_.bind(array.data), array.step};
  }
  template <typename T>
  Numbers<T> bind(const detail::NumbersOfRuns<T>& array) {
    return {bind(array.floats), bind(array.halves)};
  }
  template <typename Kernel>
  void launch(Index runs, int x, int y, int shared_bytes, const Kernel& kernel) {
    static_assert(sizeof(Kernel) <= 4096, "more than the arguments of a launch may have");
    device_.launch({x, y, kStepThreads, shared_bytes, whole(runs)}, kernel);
  }

  Device& device_;
};

}  // namespace headway::training::HEADWAY_GPU
