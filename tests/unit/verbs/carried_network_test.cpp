#include <cmath>
#include <memory>

#include "catch.hpp"
#include "headway/core/labels.hpp"
#include "headway/error.hpp"
#include "headway/model/linear_value_network.hpp"
#include "headway/prune.hpp"
#include "headway/study.hpp"
#include "random_examples.hpp"
#include "reference_path_features.hpp"

using namespace headway;
using Catch::Matchers::WithinAbs;

namespace {

constexpr Index kTokens = 4;
constexpr Index kFeatures = 5;

/// A data set of random examples with a drawn network; train, test and validation.
struct Problem {
  explicit Problem(Index outputs = 1) : rng(5, StreamPurpose::kTests) {
    model::Architecture architecture;
    architecture.heads = {2, 3};
    architecture.widths = {6, 5, 4};
    architecture.variances = {1.0, 1.0, 1.0, 1.0};
    architecture.outputs = outputs;
    data.name = "drawn";
    data.heads = architecture.heads;
    data.layers = testing::random_weight_layers(data.heads, kFeatures, rng);
    data.features = kFeatures;
    data.readout = Readout::kMean;
    data.network = model::draw_from_prior(architecture, kFeatures, rng);
    data.train = split(12, outputs, train);
    data.test = split(20, outputs, test);
    data.sets.push_back({tasks::kValidationSet, split(15, outputs, validation)});
    study.task.set_kind(headway::TaskKind::kDataset);
    study.model.widths = {{20}};
    study.model.temperatures = {0.1};
    study.model.variances = {1.7};  // the theory's, not the network's
    study.prune.random_orders = 3;
    study.prune.resamples = 20;
    study.threads = 1;
  }
  tasks::Split split(Index count, Index outputs, Tensor& inputs) {
    inputs = testing::random_tensor({count, kTokens, kFeatures}, rng);
    tasks::Split made;
    made.examples = std::make_shared<tasks::MemoryExamples>(inputs);
    made.labels = MatrixXd::Zero(count, outputs);
    for (Index i = 0; i < count; ++i) {
      const auto choice = static_cast<Index>(rng.uniform_index(2));
      if (outputs == 1) {
        made.labels(i, 0) = choice == 0 ? 1.0 : -1.0;
      } else {
        made.labels(i, choice) = 1.0;
      }
    }
    return made;
  }
  /// The network itself, layer by layer.
  [[nodiscard]] MatrixXd outputs_of(const LinearValueNetwork& network, const Tensor& inputs) const {
    MatrixXd f(inputs.shape[0], network.readout.rows());
    for (Index mu = 0; mu < f.rows(); ++mu) {
      const Eigen::Map<const RowMatrixXd> x(inputs.values.data() + mu * kTokens * kFeatures,
                                            kTokens, kFeatures);
      std::vector<std::vector<MatrixXd>> attention;
      for (const LayerHeads& layer : data.layers) {
        attention.push_back(reference::softmax_attention(x, layer));
      }
      f.row(mu) = model::network_output(network, x, attention,
                                        model::readout_vector(Readout::kMean, kTokens));
    }
    return f;
  }
  [[nodiscard]] headway::PruneResult prune() const {
    Observer observer;
    return headway::prune(study, data, observer);
  }

  Rng rng;
  Tensor train, test, validation;
  tasks::Dataset data;
  headway::Study study;
};

}  // namespace

TEST_CASE("prune removes heads of the network that the data set carries") {
  for (const Index outputs : {Index{1}, Index{2}}) {
    const Problem problem(outputs);
    const headway::PruneResult result = problem.prune();
    REQUIRE(result.network);
    const headway::NetworkPruning& network = *result.network;
    CHECK(network.measured_on == "test");
    CHECK(network.greedy_on == "validation");
    REQUIRE(network.sets.size() == 3);
    const std::vector<std::pair<const Tensor*, const MatrixXd*>> sets = {
        {&problem.train, &problem.data.train.labels},
        {&problem.test, &problem.data.test->labels},
        {&problem.validation, &problem.data.sets[0].split.labels}};
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const MatrixXd f = problem.outputs_of(*problem.data.network, *sets[i].first);
      const analysis::Quality& quality = network.sets[i].quality;
      CHECK_THAT(quality.accuracy.mean, WithinAbs(right_answers(f, *sets[i].second).mean(), 1e-14));
      CHECK_THAT(quality.squared_error.mean,
                 WithinAbs((f - *sets[i].second).array().square().mean(), 1e-12));
    }
    // The second head of layer 2 gone, two of three left.
    LinearValueNetwork changed = *problem.data.network;
    changed.values[1][1].setZero();
    for (MatrixXd& v : changed.values[1]) v *= std::sqrt(1.5);
    const MatrixXd& labels = problem.data.test->labels;
    const double rise =
        (problem.outputs_of(changed, problem.test) - labels).array().square().mean() -
        network.sets[1].quality.squared_error.mean;
    REQUIRE(network.error_rise.size() == 5);
    CHECK_THAT(network.error_rise[3].mean, WithinAbs(rise, 1e-12));
    CHECK(network.order_parameter.rows() == 6 * outputs);
    REQUIRE(network.baselines.size() == 4);
    CHECK(network.baselines[0].rising.order.size() == 3);  // one head stays in each layer
    CHECK(network.random.size() == 3);
    REQUIRE(result.points.front().network.size() == 4);
    CHECK(result.points.front().network[0].name == "score");
    CHECK(result.points.front().network[3].name == "squared_error_rise_without_theory");
    CHECK(result.points.front().network[0].rising.quality.size() == 4);
  }
}

TEST_CASE("a greedy order is searched only where it is asked for") {
  Problem problem;
  problem.study.prune.greedy = true;
  const headway::PruneResult asked = problem.prune();
  CHECK(asked.points.front().greedy.order.size() == 3);
  CHECK(asked.points.front().greedy_on == "validation");
  problem.study.prune.greedy = false;
  const headway::PruneResult result = problem.prune();
  CHECK(result.points.front().greedy.order.empty());
  CHECK(result.points.front().greedy_on.empty());
}

TEST_CASE("without test set, classes or further sets the network is still pruned") {
  Problem problem;
  problem.data.test.reset();
  problem.data.sets.clear();
  problem.data.train.labels *= 0.5;
  const headway::PruneResult result = problem.prune();
  REQUIRE(result.network);
  CHECK(result.network->measured_on == "train");
  CHECK(result.network->greedy_on == "train");
  CHECK(std::isnan(result.network->accuracy_drop[0].mean));
  CHECK(std::isfinite(result.network->error_rise[0].mean));
  const headway::RankCorrelation& by_error = result.network->baselines[0].error_rise;
  CHECK(std::abs(by_error.spearman) <= 1.0);
  CHECK(std::isnan(result.network->baselines[0].accuracy_drop.spearman));
  CHECK(result.network->greedy.order.size() == 3);
}

TEST_CASE("a network and a study must have the same readout; data sets without one have none") {
  Problem problem;
  problem.study.model.readout = Readout::kLastToken;
  CHECK_THROWS_AS(problem.prune(), Error);
  problem.study.model.readout = Readout::kMean;
  CHECK_NOTHROW(problem.prune());
  problem.data.network.reset();
  const headway::PruneResult result = problem.prune();
  CHECK_FALSE(result.network);
  CHECK(result.points.front().network.empty());
}
