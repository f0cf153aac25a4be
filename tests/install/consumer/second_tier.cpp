// Headers of modules, which programs may include that look inside: the rank correlation of two
// columns of random numbers.
#include <cmath>
#include <cstdio>
#include <vector>

#include "headway/analysis/rank_correlation.hpp"
#include "headway/core/rng.hpp"
#include "headway/sampling/diagnostics.hpp"

int main() {
  headway::Rng rng(7, headway::StreamPurpose::kTests);
  headway::MatrixXd draws(50, 2);
  for (double& value : draws.reshaped()) value = rng.normal();
  std::vector<double> x(draws.col(0).begin(), draws.col(0).end());
  std::vector<double> turned;
  for (const double value : x) turned.push_back(-std::exp(value));
  const double rho = headway::analysis::spearman(x, turned);
  const double rhat = headway::sampling::rank_normalized_rhat(draws);
  std::printf("rank correlation %.3f, R-hat %.3f\n", rho, rhat);
  return rho == -1.0 && rhat > 0.9 && rhat < 1.3 ? 0 : 1;
}
