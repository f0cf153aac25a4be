// The action and its gradient at a U of our own, from the installed library alone.
#include <cmath>
#include <cstdio>
#include <utility>

#include "headway/action.hpp"
#include "headway/architecture.hpp"
#include "headway/core/rng.hpp"

int main() {
  const headway::model::Architecture architecture =
      headway::model::uniform_architecture({2, 2}, /*width=*/20);
  const headway::Index examples = 12, features = 9, paths = architecture.paths();

  headway::Rng rng(7, headway::StreamPurpose::kTests);
  headway::RowMatrixXd path_features(examples, paths * features);
  for (double& value : path_features.reshaped()) value = rng.normal();
  headway::MatrixXd labels(examples, 1);
  for (headway::Index i = 0; i < examples; ++i) labels(i, 0) = i % 2 == 0 ? 1.0 : -1.0;

  const auto kernels = headway::theory::make_path_kernels(
      headway::theory::PathKernels::scale_features(path_features, paths, architecture.variance(0)),
      std::move(labels), paths);
  const headway::theory::Action action(architecture, /*temperature=*/0.01, kernels);

  headway::theory::OrderParameters u =
      headway::theory::gaussian_process_order_parameters(architecture);
  u.at(1)(0, 0) = 1.7;
  const double slope = action.evaluate(u).gradient[0](0, 0);

  const double step = 1e-6;
  u.at(1)(0, 0) = 1.7 + step;
  const double above = action.evaluate(u).value;
  u.at(1)(0, 0) = 1.7 - step;
  const double below = action.evaluate(u).value;
  const double difference = (above - below) / (2.0 * step);
  std::printf("dS/dU_1[(1,1),(1,1)] = %.9f, by differences %.9f\n", slope, difference);
  return std::abs(slope - difference) < 1e-6 * (1.0 + std::abs(slope)) ? 0 : 1;
}
