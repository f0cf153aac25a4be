// Solves from arrays in memory, and prints U_1.
#include <cmath>
#include <iostream>

#include "headway/headway.hpp"

int main() {
  headway::Tensor xi({40, 4, 5});  // examples, paths of two layers of two heads, features
  for (std::size_t i = 0; i < xi.values.size(); ++i)
    xi.values[i] = std::sin(1.0 + 7.0 * double(i * i));
  headway::MatrixXd y(40, 1);
  for (headway::Index i = 0; i < 40; ++i) y(i, 0) = i % 2 == 0 ? 1.0 : -1.0;

  headway::Study study = headway::Study::of_arrays();
  study.model.widths = {{10}};
  study.model.temperatures = {0.1};
  const auto data = headway::Dataset::from_path_features(xi, y, {2, 2});
  const headway::SolveResult result = headway::solve(study, data);
  std::cout << result.points[0].order_parameters.at(1) << "\n";
}
