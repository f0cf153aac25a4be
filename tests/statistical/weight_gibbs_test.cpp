// Block Gibbs in weight space is exact: one block has its closed-form Gaussian posterior, and all
// of them leave the joint distribution of weights and data invariant (Geweke 2004). The same tests
// reject a sampler that works at the wrong noise.
#include "posterior/weight_gibbs.hpp"

#include <Eigen/Cholesky>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "catch.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "larger.hpp"
#include "weight_problems.hpp"

using namespace headway;             // NOLINT: a test
using namespace headway::posterior;  // NOLINT

namespace {

using testing::block_segment;
using testing::random_weight_data;
using testing::WeightData;
using testing::WeightProblem;

// Bonferroni's bound on |z| for 1e-7 over `comparisons`: about ten test cases in this file.
double bound(Index comparisons) {
  const double tail = 0.5e-7 / static_cast<double>(comparisons);
  return boost::math::quantile(complement(boost::math::normal(), tail));
}

struct Gaussian {
  VectorXd mean;
  MatrixXd covariance;
};

// v | y: covariance S = (I + Phi^T Phi / T)^{-1}, mean S Phi^T y / T.
Gaussian conditional(const MatrixXd& phi, const VectorXd& y, double temperature) {
  const MatrixXd precision =
      MatrixXd::Identity(phi.cols(), phi.cols()) + phi.transpose() * phi / temperature;
  Gaussian result;
  result.covariance =
      Eigen::LLT<MatrixXd>(precision).solve(MatrixXd::Identity(phi.cols(), phi.cols()));
  result.mean = result.covariance * (phi.transpose() * y) / temperature;
  return result;
}

// The largest deviation of independent draws from a Gaussian in standard errors, over the means,
// the variances and the covariances.
double largest_deviation(const MatrixXd& draws, const Gaussian& expected) {
  const auto n = static_cast<double>(draws.rows());
  const MatrixXd& s = expected.covariance;
  const VectorXd mean = draws.colwise().mean();
  const MatrixXd centred = draws.rowwise() - expected.mean.transpose();
  const MatrixXd covariance = centred.transpose() * centred / n;
  double largest = 0.0;
  for (Index i = 0; i < s.rows(); ++i) {
    largest = headway::testing::larger(
        largest, std::abs(mean[i] - expected.mean[i]) / std::sqrt(s(i, i) / n));
    for (Index j = 0; j <= i; ++j) {
      const double error = std::sqrt((s(i, i) * s(j, j) + s(i, j) * s(i, j)) / n);
      largest = headway::testing::larger(largest, std::abs(covariance(i, j) - s(i, j)) / error);
    }
  }
  return largest;
}

struct BlockDraws {
  double deviation = 0.0;  // largest, in standard errors
  Index comparisons = 0;
};

// Draws block l many times with everything else frozen, at `gibbs_temperature`, and compares with
// the posterior at the problem's own temperature.
BlockDraws draw_one_block(const WeightProblem& problem, int l, double gibbs_temperature) {
  const WeightData data = random_weight_data(problem);
  WeightPosterior posterior = testing::make_weight_posterior(problem, data);
  const auto network =
      std::make_shared<const WeightNetwork>(problem.architecture, problem.features);
  WeightGibbs gibbs(network, data.kernels, gibbs_temperature);
  Rng rng(51, StreamPurpose::kTests, problem.stream * 16 + static_cast<std::uint64_t>(l));
  VectorXd position(posterior.dimension());
  posterior.draw_start(rng, position);
  const testing::Segment block = block_segment(*network, l);
  const Gaussian expected = conditional(testing::explicit_phi(posterior, position, block),
                                        data.kernels->labels().reshaped(), problem.temperature);
  MatrixXd draws(20000, block.size);
  for (Index i = 0; i < draws.rows(); ++i) {
    gibbs.prepare(position, l);
    gibbs.draw_block(l, data.kernels->labels(), rng, position);
    draws.row(i) = position.segment(block.offset, block.size).transpose();
  }
  return {largest_deviation(draws, expected), block.size + block.size * (block.size + 1) / 2};
}

// One layer, one head.
WeightProblem single_path() { return {{{1}, {3, 2}, {0.9, 1.2, 1.1}, 1}, 0.1, 8, 3, 21}; }

// Functions of weights and data whose prior means are compared: of the data, of f, of order
// parameters, of weights. Products of many Gaussians have heavy tails. There a chain stays longer
// than its standard error tells. So logarithms of squares and bounded functions are compared.
constexpr Index kQuantities = 12;
double bounded(double x) { return x / (1.0 + std::abs(x)); }
VectorXd quantities(const WeightNetwork& network, const VectorXd& position, const MatrixXd& f,
                    const MatrixXd& y) {
  std::vector<MatrixXd> effective;
  network.effective_weights(position, 1, effective);
  const MatrixXd u = effective[1] * effective[1].transpose();
  const Index last = u.rows() - 1;
  const double input = network.weights(position, 0).squaredNorm();
  const double values = network.weights(position, 1, network.heads(1) - 1).squaredNorm();
  const double readout = network.weights(position, network.top()).squaredNorm();
  VectorXd q(kQuantities);
  q << bounded(y(0, 0)), bounded(y(0, 0) * f(0, 0)), std::log(y.squaredNorm()),
      std::log(f.squaredNorm()), bounded(y.cwiseProduct(f).sum()), std::log(u(0, 0)),
      std::log(u(last, last)), bounded(u(last, 0)), std::log(input), std::log(values),
      std::log(readout), std::log(readout) * std::log(input);
  return q;
}

// Geweke's test: weights ~ prior and y ~ likelihood, drawn directly, against alternating y |
// weights and one sweep of weights | y at `sweep_temperature`. Returns the largest difference of
// means in standard errors.
double geweke(const WeightProblem& problem, double sweep_temperature, int draws) {
  const WeightData data = random_weight_data(problem);
  const auto network =
      std::make_shared<const WeightNetwork>(problem.architecture, problem.features);
  WeightGibbs gibbs(network, data.kernels, sweep_temperature);
  Rng rng(52, StreamPurpose::kTests, problem.stream);
  VectorXd position(network->dimension());
  std::vector<MatrixXd> effective;
  MatrixXd f;
  const auto draw_weights = [&] {
    rng.fill_normal({position.data(), static_cast<std::size_t>(position.size())});
  };
  const auto draw_labels = [&] {
    network->effective_weights(position, 0, effective);
    f = network->output(data.kernels->features(), effective[0]);
    MatrixXd noise(f.rows(), f.cols());
    rng.fill_normal({noise.data(), static_cast<std::size_t>(noise.size())});
    return MatrixXd(f + std::sqrt(problem.temperature) * noise);
  };
  MatrixXd direct(draws, kQuantities);
  MatrixXd chain(draws, kQuantities);
  for (int i = 0; i < draws; ++i) {
    draw_weights();
    const MatrixXd y = draw_labels();
    direct.row(i) = quantities(*network, position, f, y);
  }
  draw_weights();
  for (int i = 0; i < draws; ++i) {
    const MatrixXd y = draw_labels();
    chain.row(i) = quantities(*network, position, f, y);
    gibbs.sweep(y, rng, position);
  }
  double largest = 0.0;
  for (Index q = 0; q < kQuantities; ++q) {
    const double error =
        std::hypot(sampling::mcse_mean(direct.col(q)), sampling::mcse_mean(chain.col(q)));
    largest = headway::testing::larger(
        largest, std::abs(direct.col(q).mean() - chain.col(q).mean()) / error);
  }
  return largest;
}

// Sizes with unequal everything; strong enough coupling that labels matter.
std::vector<WeightProblem> joint_problems() {
  return {{{{2}, {3, 2}, {1.2, 0.8, 1.1}, 1}, 0.3, 3, 2, 31},
          {{{2, 2}, {3, 2, 3}, {1.0, 1.3, 0.8, 1.2}, 1}, 0.2, 3, 2, 32},
          {{{2, 1}, {2, 3, 2}, {1.1, 0.9, 1.2, 0.8}, 2}, 0.4, 2, 2, 33}};
}
constexpr int kJointDraws = 40000;

}  // namespace

TEST_CASE("With the rest frozen, each block of one path has its closed-form Gaussian posterior") {
  for (int l = 0; l <= 2; ++l) {
    const BlockDraws result = draw_one_block(single_path(), l, single_path().temperature);
    INFO("block " << l << ", largest deviation " << result.deviation << " standard errors");
    CHECK(result.deviation < bound(result.comparisons));
  }
}

TEST_CASE("Each block of several heads and outputs has its Gaussian posterior, too") {
  const WeightProblem problem{{{2, 2}, {2, 3, 2}, {0.9, 1.1, 1.2, 0.8}, 2}, 0.2, 4, 2, 22};
  for (int l = 0; l <= 3; ++l) {
    const BlockDraws result = draw_one_block(problem, l, problem.temperature);
    INFO("block " << l << ", largest deviation " << result.deviation << " standard errors");
    CHECK(result.deviation < bound(result.comparisons));
  }
}

TEST_CASE("Block draws at another noise are noticed") {
  for (int l = 0; l <= 2; ++l) {
    const BlockDraws result = draw_one_block(single_path(), l, 3.0 * single_path().temperature);
    INFO("block " << l << ", largest deviation " << result.deviation << " standard errors");
    CHECK(result.deviation > bound(result.comparisons));
  }
}

TEST_CASE("Sweeps leave the joint distribution of weights and data invariant") {
  for (const WeightProblem& problem : joint_problems()) {
    INFO(testing::describe(problem));
    const double largest = geweke(problem, problem.temperature, kJointDraws);
    INFO("largest difference " << largest << " standard errors");
    CHECK(largest < bound(kQuantities));
  }
}

TEST_CASE("Gibbs over the weights is exact with ten times as many draws", "[.long]") {
  for (WeightProblem problem : joint_problems()) {
    INFO(testing::describe(problem));
    problem.stream += 100;
    const double largest = geweke(problem, problem.temperature, 10 * kJointDraws);
    INFO("largest difference " << largest << " standard errors");
    CHECK(largest < bound(kQuantities));
  }
}

TEST_CASE("Geweke's test notices sweeps at another noise") {
  for (const WeightProblem& problem : joint_problems()) {
    INFO(testing::describe(problem));
    const double largest = geweke(problem, 1.3 * problem.temperature, kJointDraws);
    INFO("largest difference " << largest << " standard errors");
    CHECK(largest > bound(kQuantities));
  }
}
