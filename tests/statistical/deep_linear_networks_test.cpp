// Deep linear networks: kernels of their hidden layers against a published formula.
//
// With one head a layer and attention the identity, the network is a deep linear one. Of such
// networks Zavatone-Veth, Canatar, Ruben and Pehlevan (arXiv 2106.00651; langevin/theory.py of
// github.com/Pehlevan-Group/finite-width-bayesian) give the mean kernel of layer l,
//   <K_l> = K + (sum_{k <= l} C / N_k) K Phi K + O(1 / N^2),
//   Phi = G^-1 (Y Y^T / C - G) G^-1,   G = K + T.
#include <Eigen/Cholesky>
#include <cmath>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "weight_problems.hpp"

using namespace headway;  // NOLINT: a test

namespace {

constexpr int kChains = 4;
constexpr Index kWarmup = 200, kDraws = 3000;

/// <K_l - K, K Phi K> / |K Phi K|^2 of each draw, for the three hidden layers: draws x chains each.
std::vector<MatrixXd> coefficients(const testing::WeightProblem& problem) {
  const testing::WeightData data = testing::random_weight_data(problem);
  const MatrixXd& x = *data.test_features;
  const MatrixXd kernel = x * x.transpose();
  const MatrixXd g = kernel + problem.temperature * MatrixXd::Identity(x.rows(), x.rows());
  const MatrixXd& y = data.kernels->labels();
  const MatrixXd inner = y * y.transpose() / static_cast<double>(problem.architecture.outputs) - g;
  const MatrixXd left = kernel * g.llt().solve(MatrixXd::Identity(x.rows(), x.rows()));
  const MatrixXd correction = left * inner * left.transpose();
  std::vector<MatrixXd> series(3, MatrixXd(kDraws, kChains));
  for (int chain = 0; chain < kChains; ++chain) {
    posterior::WeightPosterior posterior = testing::make_weight_posterior(problem, data);
    Rng rng(71, StreamPurpose::kTests, static_cast<std::uint64_t>(chain));
    VectorXd position(posterior.dimension());
    posterior.draw_start(rng, position);
    for (Index draw = -kWarmup; draw < kDraws; ++draw) {
      posterior.sweep(rng, position);
      if (draw < 0) continue;
      const LinearValueNetwork network = posterior.network(position);
      MatrixXd h = x * network.input.transpose();
      for (std::size_t l = 0; l < 3; ++l) {
        const auto width = static_cast<double>(h.cols());
        const MatrixXd change = h * h.transpose() / width - kernel;
        series[l](draw, chain) = change.cwiseProduct(correction).sum() / correction.squaredNorm();
        if (l < 2) h = h * network.values[l][0].transpose() / std::sqrt(width);
      }
    }
  }
  return series;
}

}  // namespace

TEST_CASE("Hidden kernels of deep linear networks change with 1/N as was published") {
  const testing::WeightProblem problem = {
      {{1, 1}, {80, 50, 100}, {1.0, 1.0, 1.0, 1.0}, 2}, 0.5, 8, 6, 91};
  const std::vector<MatrixXd> series = coefficients(problem);
  double expected = 0.0;
  for (std::size_t l = 0; l < 3; ++l) {
    expected += 2.0 / static_cast<double>(problem.architecture.widths[l]);
    const sampling::QuantityDiagnostics found = sampling::diagnose_quantity(series[l]);
    INFO("layer " << l + 1 << ": " << found.mean << " +- " << found.mcse_mean << ", published "
                  << expected);
    // The next order in 1/N is left out of the formula.
    const double next_order = expected * expected;
    CHECK(std::abs(found.mean - expected) <
          testing::largest_chain_z(3) * found.mcse_mean + next_order);
    // What is neither 0 nor the value of a layer less is told apart.
    CHECK(found.mean > 3.0 * found.mcse_mean);
  }
}
