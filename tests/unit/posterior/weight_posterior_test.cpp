#include "headway/posterior/weight_posterior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "headway/dataset.hpp"
#include "headway/error.hpp"
#include "larger.hpp"
#include "reference_path_features.hpp"
#include "weight_problems.hpp"

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

using namespace headway;             // NOLINT: a test
using namespace headway::posterior;  // NOLINT

namespace {

using testing::describe;
using testing::make_weight_posterior;
using testing::random_weight_data;
using testing::WeightData;
using testing::WeightProblem;

VectorXd random_position(Index dimension, std::uint64_t stream) {
  Rng rng(32, StreamPurpose::kTests, stream);
  return testing::random_matrix(dimension, 1, rng);
}

std::string message_of(const WeightProblem& problem, const WeightData& data) {
  try {
    make_weight_posterior(problem, data);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("The gradient over all weights is that of the log density") {
  for (const WeightProblem& problem : testing::weight_problems()) {
    INFO(describe(problem));
    WeightPosterior posterior = make_weight_posterior(problem, random_weight_data(problem));
    VectorXd x = random_position(posterior.dimension(), problem.stream);
    VectorXd gradient(x.size());
    VectorXd unused(x.size());
    posterior.log_density(x, gradient);
    constexpr double kStep = 1e-4;
    double largest = 0.0;
    for (Index i = 0; i < x.size(); ++i) {
      const double centre = x[i];
      const auto at = [&](double steps) {
        x[i] = centre + steps * kStep;
        return posterior.log_density(x, unused);
      };
      const double slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * kStep);
      x[i] = centre;
      largest = headway::testing::larger(largest, std::abs(slope - gradient[i]));
    }
    CHECK(largest < 1e-8 * (1.0 + gradient.cwiseAbs().maxCoeff()));
    CHECK(gradient.cwiseAbs().minCoeff<Eigen::PropagateNaN>() > 0.0);
  }
}

TEST_CASE("The log density is prior and likelihood of the network's own outputs") {
  const WeightProblem problem = testing::weight_problems()[5];
  const WeightData data = random_weight_data(problem);
  WeightPosterior posterior = make_weight_posterior(problem, data);
  const VectorXd x = random_position(posterior.dimension(), 1);
  VectorXd gradient(x.size());
  const MatrixXd f = posterior.observe(x, true).mean;
  const double expected = -0.5 * x.squaredNorm() -
                          0.5 * (data.kernels->labels() - f).squaredNorm() / problem.temperature;
  CHECK_THAT(posterior.log_density(x, gradient), WithinRel(expected, 1e-12));
}

TEST_CASE("Outputs and order parameters are those of the network with these weights") {
  Rng rng(33, StreamPurpose::kTests);
  for (const WeightProblem& problem : testing::weight_problems()) {
    INFO(describe(problem));
    const model::Architecture& a = problem.architecture;
    const Index tokens = 4;
    const Tensor inputs = testing::random_tensor({problem.examples, tokens, problem.features}, rng);
    const auto layers = testing::random_weight_layers(a.heads, problem.features, rng);
    const RowMatrixXd xi = reference::path_features(tasks::MemoryExamples(inputs), a.heads, layers,
                                                    Readout::kLastToken, AttentionKind::kSoftmax);
    const MatrixXd scaled = theory::PathKernels::scale_features(xi, a.paths(), a.variance(0));
    const MatrixXd labels = testing::random_matrix(problem.examples, a.outputs, rng);
    const WeightData data{theory::make_path_kernels(scaled, labels, a.paths()),
                          std::make_shared<const MatrixXd>(scaled)};
    WeightPosterior posterior = make_weight_posterior(problem, data);
    const VectorXd x = random_position(posterior.dimension(), problem.stream);
    const model::LinearValueNetwork network = posterior.network(x);
    const PosteriorDraw draw = posterior.observe(x, true);
    for (Index mu = 0; mu < problem.examples; ++mu) {
      const reference::Example example{
          Eigen::Map<const RowMatrixXd>(inputs.values.data() + mu * tokens * problem.features,
                                        tokens, problem.features),
          std::vector<std::uint8_t>(static_cast<std::size_t>(tokens), 1)};
      std::vector<std::vector<MatrixXd>> attention(layers.size());
      for (std::size_t l = 0; l < layers.size(); ++l) {
        for (int h = 0; h < a.heads[l]; ++h) {
          attention[l].push_back(reference::attention(
              example, layers[l], static_cast<std::size_t>(h), AttentionKind::kSoftmax));
        }
      }
      const VectorXd f = model::network_output(network, example.inputs, attention,
                                               model::readout_vector(Readout::kLastToken, tokens));
      CHECK((draw.mean.row(mu).transpose() - f).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-12);
      CHECK(f.cwiseAbs().minCoeff<Eigen::PropagateNaN>() > 0.0);
    }
    const MatrixXd v = model::effective_weights(network);
    const MatrixXd u = v * v.transpose() / a.width(1);
    CHECK((draw.order_parameters.layers[0] - u).norm() < 1e-12 * (1.0 + u.norm()));
    const MatrixXd readout =
        network.readout * network.readout.transpose() / static_cast<double>(a.widths.back());
    CHECK((draw.order_parameters.readout - readout).norm() < 1e-12 * (1.0 + readout.norm()));
    // U_l is U_1 of the network above layer l.
    for (std::size_t l = 1; l < a.heads.size(); ++l) {
      model::LinearValueNetwork upper = network;
      upper.values.erase(upper.values.begin(), upper.values.begin() + static_cast<Index>(l));
      const MatrixXd e = model::effective_weights(upper);
      const MatrixXd expected = e * e.transpose() / static_cast<double>(a.widths[l]);
      CHECK((draw.order_parameters.layers[l] - expected).norm() < 1e-12 * (1.0 + expected.norm()));
    }
    CHECK(draw.variance == MatrixXd::Zero(problem.examples, a.outputs));
  }
}

TEST_CASE("Positions hold the weights over their prior deviations, in the order they are drawn") {
  for (const WeightProblem& problem : testing::weight_problems()) {
    INFO(describe(problem));
    WeightPosterior posterior = make_weight_posterior(problem, random_weight_data(problem));
    Rng first(5, StreamPurpose::kTests, problem.stream);
    Rng second(5, StreamPurpose::kTests, problem.stream);
    VectorXd x(posterior.dimension());
    REQUIRE(posterior.draw_start(first, x));
    const model::LinearValueNetwork drawn =
        model::draw_from_prior(problem.architecture, problem.features, second);
    CHECK((posterior.position(drawn) - x).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-14);
    CHECK(
        (posterior.position(posterior.network(x)) - x).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <
        1e-14);
    CHECK(posterior.network(x).input.isApprox(drawn.input, 1e-14));
  }
}

TEST_CASE("Weights are named by layer, head and entry, counted from 1") {
  const WeightProblem problem = testing::weight_problems()[5];
  const WeightPosterior posterior = make_weight_posterior(problem, random_weight_data(problem));
  const std::vector<std::string> names = posterior.coordinate_names();
  REQUIRE(static_cast<Index>(names.size()) == posterior.dimension());
  CHECK(names[0] == "V_0[1,1]");
  CHECK(names[1] == "V_0[2,1]");
  CHECK(names[8] == "V_1^1[1,1]");
  CHECK(names[8 + 12] == "V_1^2[1,1]");
  CHECK(names.back() == "a[2,2]");
}

TEST_CASE("Each weight has the name of its place in the network, for every architecture") {
  for (const WeightProblem& problem : testing::weight_problems()) {
    INFO(describe(problem));
    const WeightPosterior posterior = make_weight_posterior(problem, random_weight_data(problem));
    const std::vector<std::string> names = posterior.coordinate_names();
    REQUIRE(static_cast<Index>(names.size()) == posterior.dimension());
    const auto named = [&](const std::string& name) {
      const auto at = std::find(names.begin(), names.end(), name);
      INFO(name);
      REQUIRE(at != names.end());
      return static_cast<Index>(at - names.begin());
    };
    const VectorXd x =
        VectorXd::LinSpaced(posterior.dimension(), 1.0, static_cast<double>(posterior.dimension()));
    const model::LinearValueNetwork network = posterior.network(x);
    std::size_t seen = 0;
    const auto check = [&](const std::string& block, const MatrixXd& weights, double variance) {
      for (Index i = 0; i < weights.rows(); ++i) {
        for (Index j = 0; j < weights.cols(); ++j, ++seen) {
          const bool vector = block == "a" && problem.architecture.outputs == 1;
          const Index at = named(vector ? fmt::format("a[{}]", j + 1)
                                        : fmt::format("{}[{},{}]", block, i + 1, j + 1));
          CHECK_THAT(weights(i, j) / std::sqrt(variance), WithinRel(x[at], 1e-12));
        }
      }
    };
    const model::Architecture& a = problem.architecture;
    check("V_0", network.input, a.variances[0]);
    for (std::size_t l = 0; l < a.heads.size(); ++l) {
      for (std::size_t h = 0; h < network.values[l].size(); ++h) {
        check(fmt::format("V_{}^{}", l + 1, h + 1), network.values[l][h], a.variances[l + 1]);
      }
    }
    check("a", network.readout, a.variances.back());
    CHECK(seen == names.size());
  }
}

TEST_CASE("Absurd problems are refused by name") {
  const WeightProblem good = testing::weight_problems()[2];
  const WeightData data = random_weight_data(good);
  CHECK(message_of(good, data).empty());
  WeightProblem cold = good;
  for (const double temperature : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    cold.temperature = temperature;
    CHECK(message_of(cold, data) ==
          fmt::format("model.temperature = {}: sampling needs a finite temperature > 0",
                      temperature));
  }
  WeightProblem other = good;
  other.architecture.heads = {2, 2};
  CHECK(message_of(other, data) ==
        "the architecture has 4 paths and 1 outputs, but the path kernels have 6 and 1");
  other = good;
  other.architecture.outputs = 2;
  CHECK(message_of(other, data) ==
        "the architecture has 6 paths and 2 outputs, but the path kernels have 6 and 1");
  WeightData wrong = data;
  wrong.test_features = std::make_shared<const MatrixXd>(MatrixXd::Zero(2, 5));
  CHECK(message_of(good, wrong) ==
        "the test set has 5 path features an example, but the training set has 18");
  WeightPosterior posterior = make_weight_posterior(good, data);
  model::LinearValueNetwork network = posterior.network(random_position(posterior.dimension(), 1));
  network.values[1][2].resize(1, 1);
  CHECK_THROWS_WITH(posterior.position(network),
                    "head 3 of block 2 of the network is 1 x 1, but the architecture has 2 x 5");
  const std::string others = "the network has other layers or heads than the architecture";
  network.values[1].pop_back();
  CHECK_THROWS_WITH(posterior.position(network), others);
  network.values.pop_back();
  CHECK_THROWS_WITH(posterior.position(network), others);
}

TEST_CASE("Without a test set there is no predictor") {
  const WeightProblem problem = testing::weight_problems()[0];
  WeightData data = random_weight_data(problem);
  data.test_features = std::make_shared<const MatrixXd>();
  WeightPosterior posterior = make_weight_posterior(problem, data);
  const PosteriorDraw draw = posterior.observe(random_position(posterior.dimension(), 1), true);
  CHECK(draw.mean.size() == 0);
  CHECK(draw.order_parameters.layers.size() == 1);
}
