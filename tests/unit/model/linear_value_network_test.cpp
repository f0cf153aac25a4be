#include "headway/model/linear_value_network.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/dataset.hpp"
#include "headway/error.hpp"
#include "headway/path_features.hpp"
#include "random_examples.hpp"
#include "reference_path_features.hpp"

using Catch::Matchers::WithinAbs;
using headway::AttentionKind;
using headway::Error;
using headway::Index;
using headway::MatrixXd;
using headway::Readout;
using headway::Rng;
using headway::RowMatrixXd;
using headway::StreamPurpose;
using headway::Tensor;
using headway::VectorXd;
using namespace headway::model;

TEST_CASE("A network of one layer, one head and width one is the product of its weights") {
  LinearValueNetwork network;
  network.input = (MatrixXd(1, 4) << 1, 2, 3, 4).finished();
  network.values = {{(MatrixXd(1, 1) << 5).finished()}};
  network.readout = (MatrixXd(1, 1) << 7).finished();
  const RowMatrixXd inputs = (RowMatrixXd(2, 4) << 1, 0, 0, 0, 0, 1, 1, 0).finished();
  const MatrixXd omega = (MatrixXd(2, 2) << 1, 0, 0.25, 0.75).finished();
  const VectorXd f =
      network_output(network, inputs, {{omega}}, readout_vector(Readout::kLastToken, 2));
  // 7 * 5 * V_0 . (0.25 x_0 + 0.75 x_1) / sqrt(4)
  CHECK_THAT(f(0), WithinAbs(35.0 * (0.25 * 1.0 + 0.75 * 5.0) / 2.0, 1e-13));
  CHECK(effective_weights(network)(0, 0) == 35.0);
}

TEST_CASE("Readout vectors take the first or last real token, or average the real ones") {
  CHECK(readout_vector(Readout::kLastToken, 3) == VectorXd::Unit(3, 2));
  CHECK(readout_vector(Readout::kFirstToken, 3) == VectorXd::Unit(3, 0));
  CHECK(readout_vector(Readout::kMean, 4) == VectorXd::Constant(4, 0.25));
  const std::vector<std::uint8_t> mask = {0, 1, 1, 0};
  CHECK(readout_vector(Readout::kLastToken, 4, mask) == VectorXd::Unit(4, 2));
  CHECK(readout_vector(Readout::kFirstToken, 4, mask) == VectorXd::Unit(4, 1));
  CHECK(readout_vector(Readout::kMean, 4, mask) == (VectorXd(4) << 0, 0.5, 0.5, 0).finished());
  CHECK(readout_vector(Readout::kMean, 3, {0, 1, 0}) == VectorXd::Unit(3, 1));
  CHECK(readout_vector(Readout::kMean, 1) == VectorXd::Ones(1));
  CHECK_THROWS_WITH(readout_vector(Readout::kMean, 2, {0, 0}),
                    "mask: the example must have at least one real token");
  CHECK_THROWS_WITH(readout_vector(Readout::kMean, 2, {1}),
                    "mask has 1 entries: must have one for each of the 2 tokens");
}

TEST_CASE("A drawn network is its path features weighted by its effective weights") {
  // f_c(x) = sum_pi V_{pi, c} . V_0 xi_pi / sqrt(N_1 p N_0), for every draw and every width.
  Rng rng(6, StreamPurpose::kTests, 1);
  Architecture architecture;
  architecture.heads = {2, 3, 1};
  architecture.widths = {5, 4, 7, 3};
  architecture.variances = {0.5, 1.5, 0.7, 2.0, 0.9};
  architecture.outputs = 2;
  const Index features = 6;
  const Index tokens = 4;
  const LinearValueNetwork network = draw_from_prior(architecture, features, rng);
  REQUIRE(network.values.size() == 3);
  REQUIRE(network.values[1].size() == 3);
  CHECK(network.values[1][0].rows() == 7);
  CHECK(network.values[1][0].cols() == 4);
  const auto layers = headway::testing::random_weight_layers(architecture.heads, features, rng);
  const Tensor inputs = headway::testing::random_tensor({3, tokens, features}, rng);
  const MatrixXd v = effective_weights(network);
  REQUIRE(v.rows() == 12);
  REQUIRE(v.cols() == 5);
  headway::Observer observer;
  for (const auto readout : {Readout::kLastToken, Readout::kMean}) {
    PathFeatureOptions options;
    options.readout = readout;
    const RowMatrixXd xi = path_features(headway::tasks::MemoryExamples(inputs), architecture.heads,
                                         layers, options, observer);
    for (Index mu = 0; mu < 3; ++mu) {
      const Eigen::Map<const RowMatrixXd> x(inputs.values.data() + mu * tokens * features, tokens,
                                            features);
      std::vector<std::vector<MatrixXd>> attention;
      attention.reserve(layers.size());
      for (const auto& layer : layers) {
        attention.push_back(headway::reference::softmax_attention(x, layer));
      }
      const VectorXd f = network_output(network, x, attention, readout_vector(readout, tokens));
      VectorXd expected = VectorXd::Zero(2);
      for (Index path = 0; path < 6; ++path) {
        const VectorXd hidden =
            network.input * xi.row(mu).segment(path * features, features).transpose();
        for (Index c = 0; c < 2; ++c) expected(c) += v.row(2 * path + c).dot(hidden);
      }
      expected /= std::sqrt(5.0 * 6.0 * static_cast<double>(features));
      CHECK((f - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-13);
      CHECK(f.cwiseAbs().minCoeff<Eigen::PropagateNaN>() > 1e-4);
    }
  }
}

TEST_CASE("The same stream draws the same network") {
  const Architecture architecture = uniform_architecture({2}, 3);
  Rng a(1, StreamPurpose::kTests, 9);
  Rng b(1, StreamPurpose::kTests, 9);
  const LinearValueNetwork first = draw_from_prior(architecture, 4, a);
  const LinearValueNetwork second = draw_from_prior(architecture, 4, b);
  CHECK(first.input == second.input);
  CHECK(first.values[0][1] == second.values[0][1]);
  CHECK(first.readout == second.readout);
  CHECK(first.values[0][0] != first.values[0][1]);
}

TEST_CASE("Outputs path by path need a column of path features for each path and input") {
  Rng rng(4, StreamPurpose::kTests, 2);
  const LinearValueNetwork network = draw_from_prior(uniform_architecture({2, 3}, 4), 5, rng);
  CHECK(path_outputs(network, RowMatrixXd::Zero(7, 30)).rows() == 7);
  CHECK(path_outputs(network, RowMatrixXd::Zero(7, 30)).cols() == 6);
  for (const Index columns : {0, 29, 31, 60}) {
    CHECK_THROWS_WITH(path_outputs(network, RowMatrixXd::Zero(7, columns)),
                      "path features have " + std::to_string(columns) +
                          " columns: a network of 6 paths and 5 features needs 30");
  }
  // Their sum is the output of the network.
  headway::Observer observer;
  const auto layers = headway::testing::random_weight_layers({2, 3}, 5, rng);
  const Tensor inputs = headway::testing::random_tensor({4, 3, 5}, rng);
  const RowMatrixXd xi =
      path_features(headway::tasks::MemoryExamples(inputs), {2, 3}, layers, {}, observer);
  const VectorXd sum = path_outputs(network, xi).rowwise().sum();
  for (Index mu = 0; mu < 4; ++mu) {
    const Eigen::Map<const RowMatrixXd> x(inputs.values.data() + mu * 15, 3, 5);
    std::vector<std::vector<MatrixXd>> attention;
    for (const auto& layer : layers) {
      attention.push_back(headway::reference::softmax_attention(x, layer));
    }
    const VectorXd f =
        network_output(network, x, attention, readout_vector(Readout::kLastToken, 3));
    CHECK_THAT(sum(mu), WithinAbs(f(0), 1e-13));
  }
}
