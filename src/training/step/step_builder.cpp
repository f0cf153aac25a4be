#include "training/step/step_builder.hpp"

#include <algorithm>
#include <utility>

#include "headway/error.hpp"

namespace headway::training::detail {
namespace {

constexpr Index kMostWeightCopies = 16;  // of the gradient of a matrix, each of some rows
constexpr Index kFewestRowsOfCopy = 64;
constexpr Index kMostRowGroups = 128;  // of the gradients of biases and norms

Index row_groups(Index rows) {
  constexpr Index kRows = 32;
  return std::min(kMostRowGroups, (rows + kRows - 1) / kRows);
}

}  // namespace

// The rows are cut evenly.
Index weight_copies(Index rows) {
  Index copies = 1;
  for (Index c = 2; c <= kMostWeightCopies; ++c) {
    if (rows % c == 0 && rows / c >= kFewestRowsOfCopy) copies = c;
  }
  return copies;
}

StepBuilder::StepBuilder(const EngineSetup& setup, const StepBatchShape& batch,
                         const StepArrays& arrays, StepDevice* device, Index copies_size)
    : setup_(setup),
      model_(setup.model),
      batch_(batch),
      arrays_(arrays),
      device_(device),
      copies_(device->array<float>("copies of gradients", std::max(copies_size, Index{1}))),
      copies_size_(copies_size),
      tokens_(setup.format.tokens),
      rows_(batch.examples * setup.format.tokens),
      wanted_rows_(batch.examples * setup.format.scored),
      dim_(setup.model.model_dim),
      packed_(2 * setup.model.query_dim + setup.model.value_dim),
      parameters_step_(step_parameters(setup.shapes)),
      context_(setup.model.encoder_layers > 0 ? setup.format.tokens - setup.format.scored : 0) {
  const std::vector<Index> offsets = step_offsets(setup.shapes);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets_[setup.shapes[i].name] = offsets[i];
    shapes_[setup.shapes[i].name] = &setup.shapes[i];
    parameters_ += setup.shapes[i].count();
  }
}

ConstFloats StepBuilder::value(const std::string& name) const {
  if (!has(name)) return {};
  return {arrays_.values + offsets_.at(name), parameters_step_};
}

ConstNumbers StepBuilder::factor(const std::string& name, Index count) {
  if (!has(name)) return {};
  return factor(name, value(name), count);
}

ConstNumbers StepBuilder::factor(const std::string& name, ConstFloats from, Index count) {
  if (!bf16()) return from;
  const auto found = factors_.find(name);
  if (found != factors_.end()) return found->second;
  constexpr Index kLine = 128;  // 256 bytes: as step_parameters()
  OfRuns<Bf16> to = floats<Bf16>(name + ", rounded", (count + kLine - 1) / kLine * kLine);
  rounding_.parts.push_back({count, from, to});
  return factors_[name] = to;
}

StepProduct StepBuilder::linear(const Linear& n, ConstNumbers x, const std::string& weight,
                                const std::string& bias, Numbers y) {
  StepProduct p;
  p.rows = n.rows;
  p.columns = n.out;
  p.inner = n.in;
  p.left = {x, n.in, 0};
  p.right = {factor(weight, n.in * n.out), n.in, 0};
  p.right_transposed = true;
  p.tf32 = tf32();
  p.bias = y.is_bf16() ? factor(bias, n.out) : ConstNumbers(value(bias));
  p.out = {y, n.out, 0};
  return p;
}

StepProduct StepBuilder::back(const Linear& n, ConstNumbers dy, const std::string& weight,
                              Numbers dx) {
  StepProduct p;
  p.rows = n.rows;
  p.columns = n.in;
  p.inner = n.out;
  p.left = {dy, n.out, 0};
  p.right = {factor(weight, n.in * n.out), n.in, 0};
  p.tf32 = tf32();
  p.out = {dx, n.in, 0};
  return p;
}

void StepBuilder::weight_gradient(const Linear& n, ConstNumbers dy, ConstNumbers x,
                                  const std::string& weight, const std::string& bias) {
  const Index copies = weight_copies(n.rows);
  gradient_product(n, dy, x, weight, sum(weight, copies, n.out * n.in));
  if (!has(bias)) return;
  const Index groups = row_groups(n.rows);
  column_sums_.parts.push_back({dy, n.rows, n.out, groups, sum(bias, groups, n.out)});
}

void StepBuilder::gradient_product(const Linear& n, ConstNumbers dy, ConstNumbers x,
                                   const std::string& weight, Floats to) {
  const Index copies = weight_copies(n.rows);
  const Index rows = n.rows / copies;
  StepProduct p;
  p.batch = copies;
  p.rows = n.out;
  p.columns = n.in;
  p.inner = rows;
  p.left = {dy, n.out, rows * n.out};
  p.left_transposed = true;
  p.right = {x, n.in, rows * n.in};
  p.tf32 = tf32();
  p.out = {to, n.in, n.out * n.in};
  launch_aside("gradient of " + weight, p);
}

void StepBuilder::launch_stream(const std::string& name, StepProduct product,
                                StepNorm::Added added) {
  if (bf16()) {
    product.added = {added.stream, dim_, 0};
  } else {
    added.bias = std::exchange(product.bias, {}).floats;
    left_to_norms_[added.to.data] = added;
  }
  launch(name, product);
}

Numbers StepBuilder::norm(const std::string& name, Index rows, ConstFloats x, Floats stats) {
  Numbers y = numbers(name, rows * dim_);
  StepNorm n = {
      rows, dim_, model_.norm == Norm::kLayerNorm, x, value(name + ".scale"), value(name + ".bias"),
      y,    stats};
  const auto left = left_to_norms_.extract(x.data);
  if (left) n.added = left.mapped();
  launch(name, n);
  return y;
}

StepBuilder::StreamGradient StepBuilder::norm_gradient(const std::string& name,
                                                       const PassedNorm& passed, ConstNumbers dz,
                                                       ConstFloats base) {
  const Index count = passed.rows * dim_;
  StepNormGradient g;
  g.rows = passed.rows;
  g.dim = dim_;
  g.groups = row_groups(passed.rows);
  g.centred = model_.norm == Norm::kLayerNorm;
  g.x = passed.x;
  g.stats = passed.stats;
  g.scale = value(name + ".scale");
  g.dy = dz;
  g.base = base;
  g.dx = floats("gradient before " + name, count);
  g.rounded = rounded("rounded gradient before " + name, count);
  g.scale_sums = sum(name + ".scale", g.groups, dim_);
  if (has(name + ".bias")) g.bias_sums = sum(name + ".bias", g.groups, dim_);
  launch("gradient of " + name, g);
  return {g.dx, bf16() ? ConstNumbers(g.rounded) : ConstNumbers(g.dx)};
}

Floats StepBuilder::sum(const std::string& name, Index count_of_copies, Index count) {
  const ParameterShape& shape = *shapes_.at(name);
  sums_.push_back({copies_used_, count_of_copies, count, count, offsets_.at(name), shape.decayed(),
                   static_cast<float>(shape.rate)});
  return copies_of(count_of_copies, count);
}

Floats StepBuilder::copies_of(Index count_of_copies, Index count) {
  constexpr Index kLine = 64;  // 256 bytes: as step_parameters()
  const Index first = copies_used_;
  copies_used_ += batch_.runs * ((count_of_copies * count + kLine - 1) / kLine * kLine);
  return {copies_ + first, count_of_copies * count};
}

std::vector<StepLaunch> StepBuilder::build(const AdamWStep& constants) {
  if (model_.network == NetworkKind::kLinearValue) {
    paths();
  } else {
    forward();
    backward();
  }
  if (!left_to_norms_.empty()) throw Error(ErrorKind::kInternal, "a stream has no norm");
  finish(constants);
  if (!rounding_.parts.empty()) {
    rounding_.runs = batch_.runs;
    launches_.insert(launches_.begin(), {"rounded parameters and inputs", rounding_});
  }
  return std::move(launches_);
}

}  // namespace headway::training::detail
