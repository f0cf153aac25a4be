// Theory against networks drawn from the prior (eqs. 14 and 24). Averaged over all weights, at any
// width, E[f(x) f(x')] is the Gaussian-process kernel and E[U_1] its order parameter. Each entry
// must lie within z = 5.5 standard errors, estimated from the draws.
#include <cmath>

#include "catch.hpp"
#include "headway/dataset.hpp"
#include "headway/model/linear_value_network.hpp"
#include "headway/path_features.hpp"
#include "random_examples.hpp"
#include "reference_path_features.hpp"

using headway::AttentionKind;
using headway::Index;
using headway::MatrixXd;
using headway::Readout;
using headway::Rng;
using headway::RowMatrixXd;
using headway::StreamPurpose;
using headway::Tensor;
using headway::VectorXd;
using namespace headway::model;

namespace {

constexpr int kDraws = 60000;
constexpr double kZ = 5.5;
constexpr Index kExamples = 3;
constexpr Index kTokens = 4;
constexpr Index kFeatures = 6;

// Mean and standard error of each entry of a matrix-valued statistic.
struct Moments {
  MatrixXd sum, square;
  void add(const MatrixXd& value) {
    if (sum.size() == 0) sum = square = MatrixXd::Zero(value.rows(), value.cols());
    sum += value;
    square += value.cwiseAbs2();
  }
  [[nodiscard]] MatrixXd z_scores(const MatrixXd& expected) const {
    const MatrixXd mean = sum / kDraws;
    const MatrixXd variance = (square / kDraws - mean.cwiseAbs2()) / kDraws;
    return (mean - expected).cwiseAbs().cwiseQuotient(variance.cwiseSqrt());
  }
};

struct Problem {
  Architecture architecture;
  std::vector<RowMatrixXd> inputs;
  std::vector<std::vector<std::vector<MatrixXd>>> attention;  // [example][layer][head]
  MatrixXd kernel;                                            // the Gaussian-process kernel
};

Problem make_problem() {
  Problem problem;
  problem.architecture.heads = {2, 2};
  problem.architecture.widths = {3, 2, 4};
  problem.architecture.variances = {0.8, 1.3, 0.6, 1.1};
  Rng rng(7, StreamPurpose::kTests, 0);
  const auto layers =
      headway::testing::random_weight_layers(problem.architecture.heads, kFeatures, rng);
  const Tensor inputs = headway::testing::random_tensor({kExamples, kTokens, kFeatures}, rng);
  for (Index mu = 0; mu < kExamples; ++mu) {
    problem.inputs.emplace_back(Eigen::Map<const RowMatrixXd>(
        inputs.values.data() + mu * kTokens * kFeatures, kTokens, kFeatures));
    problem.attention.emplace_back();
    for (const auto& layer : layers) {
      problem.attention.back().push_back(
          headway::reference::softmax_attention(problem.inputs.back(), layer));
    }
  }
  headway::Observer observer;
  PathFeatureOptions options;
  options.readout = Readout::kMean;
  const RowMatrixXd xi = path_features(headway::tasks::MemoryExamples(inputs),
                                       problem.architecture.heads, layers, options, observer);
  // K = s_a^2 s_1^2 s_2^2 sum_pi X_pi X_pi^T, X_pi = s_0 xi_pi / sqrt(N_0 p), p = 4.
  problem.kernel = 1.1 * 1.3 * 0.6 * 0.8 / (kFeatures * 4.0) * xi * xi.transpose();
  return problem;
}

}  // namespace

TEST_CASE("Networks drawn from the prior have the Gaussian-process covariance") {
  const Problem problem = make_problem();
  const VectorXd readout = readout_vector(Readout::kMean, kTokens);
  Moments products;
  Moments order_parameter;
  for (int draw = 0; draw < kDraws; ++draw) {
    Rng rng(8, StreamPurpose::kTests, static_cast<std::uint64_t>(draw));
    const LinearValueNetwork network = draw_from_prior(problem.architecture, kFeatures, rng);
    VectorXd f(kExamples);
    for (Index mu = 0; mu < kExamples; ++mu) {
      const auto i = static_cast<std::size_t>(mu);
      f(mu) = network_output(network, problem.inputs[i], problem.attention[i], readout)(0);
    }
    products.add(f * f.transpose());
    const MatrixXd v = effective_weights(network);
    order_parameter.add(v * v.transpose() / problem.architecture.width(1));
  }
  CHECK(products.z_scores(problem.kernel).maxCoeff<Eigen::PropagateNaN>() < kZ);
  const MatrixXd expected = 1.1 * 1.3 * 0.6 * MatrixXd::Identity(4, 4);
  CHECK(order_parameter.z_scores(expected).maxCoeff<Eigen::PropagateNaN>() < kZ);
  // The check notices a kernel that is wrong by the variance of one layer.
  CHECK(products.z_scores(problem.kernel / 1.3).maxCoeff() > kZ);
}
