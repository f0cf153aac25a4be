#include "training/model/linear_value_shapes.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "headway/core/option_error.hpp"
#include "headway/error.hpp"
#include "training/contributions/head_paths.hpp"

namespace headway::training::detail {
namespace {

constexpr double kMostPaths = 4096;  // a row of path features each

Index paths_of(const TransformerOptions& n) {
  Index paths = 1;
  for (Index l = 0; l < n.layers; ++l) paths *= n.heads;
  return paths;
}

}  // namespace

void validate_linear_value(const TransformerOptions& n) {
  if (std::pow(static_cast<double>(n.heads), static_cast<double>(n.layers)) <= kMostPaths) return;
  throw OptionError(fmt::format("train.heads = {}: {} layers of so many heads make more than "
                                "{:.0f} paths, the most that a linear-value network may have",
                                n.heads, n.layers, kMostPaths),
                    {"train.heads", "train.layers"});
}

std::vector<ParameterShape> linear_value_shapes(const TransformerOptions& n,
                                                const TaskFormat& format) {
  n.validate();
  format.validate();
  if (format.features == 0 || format.loss != LossKind::kSquaredError || format.scored != 1) {
    throw OptionError(
        "train.network = \"linear_value\": must be \"transformer\" for this task. A linear-value "
        "network needs task.kind = \"omniglot\", \"fuzzy_logic\" or \"arrays\": tokens of numbers, "
        "one answer an example, squared error",
        {"train.network"});
  }
  const Index dim = n.model_dim;
  const bool as_layers = n.weights_start == WeightsStart::kLinearLayers;
  const FirstValues first = as_layers ? FirstValues::kUniform : FirstValues::kNormal;
  const FirstValues keys = n.keys_start_as_queries ? FirstValues::kAsBefore : first;
  const double projection = n.initial_query_scale / std::sqrt(static_cast<double>(format.features));
  std::vector<ParameterShape> shapes;
  const auto weights = [&](std::string name, std::vector<Index> shape) {
    const auto inputs = static_cast<double>(shape.back());
    shapes.push_back({std::move(name), std::move(shape), first,
                      as_layers ? 1.0 / std::numbers::sqrt3 : 1.0,
                      as_layers ? std::sqrt(inputs) : 1.0});
  };
  weights("input.weight", {dim, format.features});
  for (Index l = 1; l <= n.layers; ++l) {
    const std::vector<Index> head = {n.heads, n.query_dim / n.heads, format.features};
    shapes.push_back(
        {fmt::format("layers.{}.query.weight", l), head, first, projection, n.query_rate});
    shapes.push_back(
        {fmt::format("layers.{}.key.weight", l), head, keys, projection, n.query_rate});
    weights(fmt::format("layers.{}.value.weight", l), {n.heads, dim, dim});
  }
  weights("readout.weight", {format.outputs, dim});
  return shapes;
}

StepFlops linear_value_flops(const TransformerOptions& n, const TaskFormat& format, Index batch) {
  n.validate();
  format.validate();
  const auto examples = static_cast<double>(batch);
  const auto tokens = static_cast<double>(format.tokens);
  const auto features = static_cast<double>(format.features);
  const auto heads = static_cast<double>(n.heads);
  const auto outputs = static_cast<double>(format.outputs);
  const auto dim = static_cast<double>(n.model_dim);
  const auto paths = static_cast<double>(paths_of(n));
  StepFlops flops;
  HeadPathShape shape = {batch,    format.tokens, format.features,
                         n.layers, n.heads,       n.query_dim / n.heads};
  shape.merged = shape.merging_pays();
  const HeadPathCosts costs = head_path_costs(shape);
  // Path features and their gradient, and the outputs.
  const double features_of_paths = paths * features * (tokens + outputs);
  flops.linear = 2.0 * (costs.projections + 2.0 * examples * features_of_paths);
  // The effective weights: rows of paths from layer l up times every value matrix, and its
  // gradient.
  double rows = outputs;
  double attention = 0.0;
  for (Index l = n.layers; l >= 1; --l) {
    flops.linear += 2.0 * 3.0 * rows * heads * dim * dim;
    attention += heads * tokens * tokens * 4.0 * rows / outputs;  // rows of paths, and back
    rows *= heads;
  }
  flops.linear += 2.0 * 3.0 * rows * dim * features;
  flops.attention = 2.0 * (costs.logits + examples * attention);
  return flops;
}

}  // namespace headway::training::detail
