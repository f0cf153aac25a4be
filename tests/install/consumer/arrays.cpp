// Solves from arrays in memory, and prints U_1.
#include <cmath>
#include <iostream>

#include "headway/dataset_from_arrays.hpp"
#include "headway/solve.hpp"

int main() {
  const headway::Index examples = 40, paths = 4, features = 5;  // two layers of two heads
  headway::Tensor xi({examples, paths, features});
  headway::MatrixXd y(examples, 1);
  for (std::size_t i = 0; i < xi.values.size(); ++i) {
    xi.values[i] = std::sin(1.0 + 7.0 * static_cast<double>(i * i));
  }
  for (headway::Index i = 0; i < examples; ++i) y(i, 0) = i % 2 == 0 ? 1.0 : -1.0;

  headway::Study study;
  study.model.widths = {{10}};
  study.model.temperatures = {0.1};
  headway::Observer observer;
  const headway::SolveResult result =
      headway::solve(study, headway::dataset_from_path_features(xi, y, {2, 2}), observer);
  std::cout << result.points[0].order_parameters.at(1) << "\n";
}
