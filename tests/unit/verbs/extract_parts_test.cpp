// A transformer as a data set of the theory: what headway extract takes from it.
#include <cmath>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/extract.hpp"
#include "headway/model/value_kernel.hpp"
#include "headway/prune.hpp"
#include "headway/solve.hpp"
#include "headway/train.hpp"
#include "headway/training/contributions.hpp"
#include "headway/training/task_adapters.hpp"
#include "memory_arrays.hpp"
#include "training/model/transformer_parameters.hpp"
#include "training_tasks.hpp"

using namespace headway;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

/// A network of random weights on a generated task.
struct Problem {
  explicit Problem(headway::TaskKind kind = headway::TaskKind::kFuzzyLogic) {
    study.task.set_kind(kind);
    if (kind == headway::TaskKind::kSraven) {
      study.task.as<tasks::SravenOptions>().features = 2;
    } else {
      study.task.as<tasks::FuzzyLogicOptions>().sequence_length = 7;
    }
    study.train.model = testing::small_model();
    study.threads = 2;
    study.extract.train_examples = 40;
    study.extract.test_examples = 13;
    study.extract.validation_examples = 9;
    study.extract.out_of_distribution_examples = 5;
    made = headway::make_generated_task(study);
    draw();
  }
  void draw() {
    parameters = training::detail::initial_parameters(
        training::detail::parameter_shapes(study.train.model, made.task->format()), 3);
    testing::shake(&parameters);
  }
  [[nodiscard]] headway::ExtractResult extract() const {
    Observer observer;
    return headway::extract(study, parameters, *made.task, observer);
  }
  [[nodiscard]] std::string message() const {
    try {
      static_cast<void>(extract());
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }

  headway::Study study;
  headway::TrainTask made;
  std::vector<training::NamedTensor> parameters;
};

const tasks::Split& set_named(const tasks::Dataset& dataset, const std::string& name) {
  for (const tasks::NamedSplit& set : dataset.sets) {
    if (set.name == name) return set.split;
  }
  throw Error(ErrorKind::kInternal, name);
}

}  // namespace

TEST_CASE("contributions are centred and scaled, and their sum is the embedding") {
  Problem p;
  p.study.extract.layers = {1, 2};
  const headway::ExtractResult out = p.extract();
  const tasks::Dataset& data = out.dataset;
  CHECK(data.form == AttentionForm::kPathFeatures);
  CHECK(data.heads == std::vector<int>{5, 5});
  CHECK(data.features == 12);
  CHECK(data.layers[1].names ==
        std::vector<std::string>{"L2 residual", "L2H1", "L2H2", "L2H3", "L2 feed-forward"});
  CHECK(out.largest_gap < 1e-12);
  CHECK(
      data.note ==
      "contributions of frozen parts to the embedding that the network's last linear layer reads, "
      "without their means over the training examples (those of real labels too), scaled to a "
      "mean kernel diagonal of 1");
  REQUIRE(data.test.has_value());
  CHECK(data.train.path_features.rows() == 40);
  CHECK(data.test->path_features.rows() == 13);
  CHECK(set_named(data, "validation").size() == 9);
  CHECK(set_named(data, "unknown_terms").size() == 5);
  CHECK(data.train.path_features.colwise().mean().norm() < 1e-12);
  CHECK(std::abs(data.train.labels.mean()) < 1e-12);
  const double diagonal = data.train.path_features.rowwise().squaredNorm().mean() / (12.0 * 25.0);
  CHECK_THAT(diagonal, WithinAbs(1.0, 1e-12));
  // The sum over paths is the embedding, but for one factor and one constant.
  const training::FrozenNetwork network(p.study.train.model, p.made.task->format(), p.parameters,
                                        {1, 2}, training::GeneratedParts::kHeads);
  training::TaskBatch batch;
  p.made.task->batch("held_out", 0, 4, batch);
  const auto embedding = [&](Index i) { return network.contributions(batch, i, 6).embedding; };
  const auto sum = [&](Index i) {
    const VectorXd row = data.test->path_features.row(i);
    return VectorXd(Eigen::Map<const RowMatrixXd>(row.data(), 25, 12).colwise().sum());
  };
  const VectorXd wanted = embedding(1) - embedding(0);
  const VectorXd got = sum(1) - sum(0);
  const double factor = got.dot(wanted) / wanted.squaredNorm();
  for (Index i = 2; i < 4; ++i) {
    CHECK(((sum(i) - sum(0)) - factor * (embedding(i) - embedding(0))).norm() < 1e-10 * got.norm());
  }
  CHECK_THAT(data.test->labels(2, 0) - data.test->labels(0, 0),
             WithinAbs(static_cast<double>(batch.targets[2]) - batch.targets[0], 1e-12));
  // Labels of every split lose the mean of the training labels.
  training::TaskBatch train;
  p.made.task->batch("train", 0, 40, train);
  double mean = 0.0;
  for (const float target : train.targets) mean += target / 40.0;
  REQUIRE(std::abs(mean) > 1e-3);
  CHECK_THAT(data.test->labels(0, 0), WithinAbs(batch.targets[0] - mean, 1e-12));
  p.made.task->batch("unknown_terms", 0, 1, batch);
  CHECK_THAT(set_named(data, "unknown_terms").labels(0, 0),
             WithinAbs(batch.targets[0] - mean, 1e-12));
}

TEST_CASE("sets of arrays keep their names") {
  const auto set = [](const std::string& name, Index n) -> tasks::ArraySet {
    std::vector<double> x(static_cast<std::size_t>(4 * n)), y(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i * i));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[4 * i];
    return {name, {}, testing::reals("x", {n, 2, 2}, x), testing::reals("y", {n}, y), {}};
  };
  Problem p;
  p.study.task.set_kind(headway::TaskKind::kArrays);
  p.made.task = training::make_array_task(
      training::checked_arrays(
          testing::arrays_of({set("train", 40), set("test", 12), set("held_out", 11)}), {}),
      {});
  p.draw();
  const tasks::Dataset data = p.extract().dataset;
  REQUIRE(data.test.has_value());
  CHECK(data.test->size() == 12);
  REQUIRE(data.sets.size() == 1);
  CHECK(data.sets[0].name == "held_out");
}

TEST_CASE("the theory runs on contributions, and pruning takes their names") {
  Problem p;
  p.study.train.model.attention = "hyla";
  p.study.extract.parts = training::GeneratedParts::kPairs;
  p.draw();
  headway::Study theory;
  theory.task.set_kind(headway::TaskKind::kDataset);
  theory.model.widths = {{30}};
  theory.model.temperatures = {0.5};
  theory.prune.random_orders = 2;
  theory.threads = 1;
  Observer observer;
  const headway::PruneResult pruned = headway::prune(theory, p.extract().dataset, observer);
  REQUIRE(pruned.points.size() == 1);
  CHECK(pruned.solve.points.front().summary.converged);
  CHECK(pruned.points.front().heads.size() == 4 + 5);
  CHECK(pruned.points.front().heads[1].name == "L2H1 generates");
  CHECK(pruned.points.front().greedy_on == "validation");
}

TEST_CASE("the answers of a chosen feature are one-hot labels") {
  Problem p(headway::TaskKind::kSraven);
  p.study.extract.position = 1;
  const headway::ExtractResult out = p.extract();
  training::TaskBatch batch;
  p.made.task->batch("train", 0, 3, batch);
  CHECK(out.dataset.outputs() == 8);
  for (Index i = 0; i < 3; ++i) {
    CHECK(out.dataset.train.labels(i, batch.classes[static_cast<std::size_t>(2 * i)]) == 1.0);
    CHECK(out.dataset.train.labels.row(i).sum() == 1.0);
  }
  CHECK(set_named(out.dataset, "validation").size() == 9);  // the split "test" of SRAVEN
  CHECK(out.splits.front().accuracy >= 0.0);
  CHECK(std::isnan(out.splits.front().mean_squared_error));
  p.study.extract.form = headway::ExtractForm::kAttention;
  CHECK(p.message() ==
        "extract.position = 1: must be 2 with extract.form = \"attention\": the theory's readout "
        "takes the last token");
}

TEST_CASE("attention matrices have rows that sum up to 1, and inputs are what the values read") {
  Problem p;
  p.study.extract.form = headway::ExtractForm::kAttention;
  p.study.extract.layers = {1, 2};
  const headway::ExtractResult out = p.extract();
  CHECK(out.dataset.form == AttentionForm::kSupplied);
  CHECK(out.dataset.note ==
        "inputs and attention of a network that the theory approximates: its residual streams, "
        "feed-forward networks and nonlinear values are left out");
  CHECK(out.dataset.heads == std::vector<int>{3, 3});
  CHECK(out.dataset.layers[0].names == std::vector<std::string>{"L1H1", "L1H2", "L1H3"});
  const ExampleSource& examples = *out.dataset.train.examples;
  CHECK(examples.features() == 12);
  std::vector<double> attention(3 * 7 * 7);
  examples.read_attention(2, 5, 1, attention.data());
  const Eigen::Map<const RowMatrixXd> rows(attention.data(), 21, 7);
  CHECK((rows.rowwise().sum().array() - 1.0).abs().maxCoeff<Eigen::PropagateNaN>() < 1e-12);
  headway::Study theory;
  theory.task.set_kind(headway::TaskKind::kDataset);
  theory.model.widths = {{30}};
  theory.model.temperatures = {0.5};
  theory.threads = 1;
  Observer observer;
  CHECK(headway::solve(theory, out.dataset, observer).points.front().summary.converged);
}

TEST_CASE("the last layer of HYLA is a value network, with labels for its heads alone") {
  Problem p;
  p.study.extract.form = headway::ExtractForm::kValueNetwork;
  p.study.train.model.attention = "hyla";
  p.draw();
  const headway::ExtractResult out = p.extract();
  const tasks::Dataset& data = out.dataset;
  CHECK(data.any_rows);
  CHECK(data.heads == std::vector<int>{3});
  CHECK(data.layers[0].names == std::vector<std::string>{"L2H1", "L2H2", "L2H3"});
  // RMSHead: the mean square over heads is 1 for each pair of tokens.
  std::vector<double> attention(3 * 7 * 7);
  data.train.examples->read_attention(1, 5, 1, attention.data());
  const Eigen::Map<const RowMatrixXd> weights(attention.data(), 3, 49);
  CHECK(
      (weights.colwise().squaredNorm().array() / 3.0 - 1.0).abs().maxCoeff<Eigen::PropagateNaN>() <
      1e-3);  // its epsilon is 1e-6
  CHECK(weights.minCoeff<Eigen::PropagateNaN>() < 0.0);
  // The kernel of the Gaussian process has a mean diagonal of 1.
  Observer observer;
  const model::ValueSites sites =
      model::value_sites({}, *data.train.examples, {3}, {}, {}, observer);
  const Index d = sites.directions.cols();
  CHECK(d == 36);
  const MatrixXd kernel =
      model::value_kernel(model::WhitenedSites(sites, MatrixXd::Identity(d, d)), 1);
  CHECK_THAT(kernel.trace() / 40.0, WithinAbs(1.0, 1e-12));
  // Labels are what the answers lack beside the heads, and inputs what values read.
  const training::FrozenNetwork network(p.study.train.model, p.made.task->format(), p.parameters,
                                        {2}, training::GeneratedParts::kHeads);
  training::TaskBatch batch;
  p.made.task->batch("train", 0, 40, batch);
  VectorXd left(40);
  for (Index i = 0; i < 40; ++i) {
    left[i] = batch.targets[static_cast<std::size_t>(i)] - network.around(batch, i, 6)[0];
  }
  CHECK((data.train.labels.col(0) - (left.array() - left.mean()).matrix()).norm() < 1e-12);
  RowMatrixXd inputs(7, 12);
  data.train.examples->read_inputs(4, 1, inputs.data());
  const RowMatrixXd read = network.attention(batch, 4, 6).inputs;
  CHECK((inputs - read * (inputs.norm() / read.norm())).norm() < 1e-12 * inputs.norm());
}

TEST_CASE("around the heads of the last layer is everything where they add nothing") {
  Problem p;
  p.study.train.model.attention = "hyla";
  p.draw();
  training::TaskBatch batch;
  p.made.task->batch("train", 0, 2, batch);
  const auto gap = [&] {
    const training::FrozenNetwork network(p.study.train.model, p.made.task->format(), p.parameters,
                                          {2}, training::GeneratedParts::kHeads);
    return (network.around(batch, 1, 6) - network.attention(batch, 1, 6).outputs).norm();
  };
  CHECK(gap() > 1e-3);
  for (training::NamedTensor& tensor : p.parameters) {
    if (tensor.name == "layers.2.output.weight") {
      std::fill(tensor.values.begin(), tensor.values.end(), 0.0F);
    }
  }
  CHECK(gap() < 1e-12);
}

TEST_CASE("heads of HYLA are pruned under their own kernel") {
  Problem p;
  p.study.extract.form = headway::ExtractForm::kValueNetwork;
  p.study.train.model.attention = "hyla";
  p.draw();
  headway::Study theory;
  theory.task.set_kind(headway::TaskKind::kDataset);
  theory.model.widths = {{30}};
  theory.model.temperatures = {0.5};
  theory.model.value_network.emplace();
  theory.prune.random_orders = 2;
  theory.threads = 1;
  Observer observer;
  const headway::PruneResult pruned = headway::prune(theory, p.extract().dataset, observer);
  CHECK(pruned.solve.points.front().summary.converged);
  REQUIRE(pruned.points.front().heads.size() == 3);
  CHECK(pruned.points.front().heads[2].name == "L2H3");
  CHECK(std::isfinite(pruned.points.front().heads[2].squared_error_rise));
}

TEST_CASE("networks whose last layer is no value network of the theory are refused") {
  Problem p;
  p.study.extract.form = headway::ExtractForm::kValueNetwork;
  const std::string form = "extract.form = \"value_network\": ";
  CHECK(p.message() == form +
                           "must be \"contributions\" for train.attention = \"softmax\", whose "
                           "values have no hidden layer made by the heads");
  p.study.train.model.attention = "hyla_deep";
  p.draw();
  CHECK_THAT(p.message(), ContainsSubstring("\"hyla_deep\", whose values have two hidden layers"));
  p.study.train.model.attention = "hyla";
  p.study.train.model.nonlinearity = "gelu";
  p.draw();
  CHECK_THAT(p.message(), ContainsSubstring("for train.nonlinearity = \"gelu\": the theory has"));
  p.study.train.model.nonlinearity = "";
  p.study.extract.layers = {1};
  CHECK(p.message() == form + "extract.layers must be [2], the last layer");
  p.study.extract.layers = {};
  p.study.extract.parts = training::GeneratedParts::kPairs;
  CHECK_THAT(p.message(), ContainsSubstring("extract.parts must be \"heads\""));
  Problem classes(headway::TaskKind::kSraven);
  classes.study.extract.form = headway::ExtractForm::kValueNetwork;
  classes.study.train.model.attention = "hyla";
  classes.draw();
  CHECK_THAT(classes.message(), ContainsSubstring("for tasks of classes"));
}

TEST_CASE("networks that cannot be extracted are refused in words") {
  Problem p;
  p.study.extract.layers = {3};
  CHECK_THAT(p.message(), ContainsSubstring("extract.layers: 3: must be layers from 1 to 2"));
  p.study.extract.layers = {};
  p.study.extract.position = 2;
  CHECK_THAT(p.message(), ContainsSubstring("extract.position = 2: must be from 1 to 1"));
  p.study.extract.position.reset();
  p.study.extract.form = headway::ExtractForm::kAttention;
  p.study.train.model.attention = "linear";
  CHECK(p.message() ==
        "extract.form = \"attention\": must be \"contributions\" for train.attention = \"linear\": "
        "the theory's attention sums to 1 over the keys");
  p.study.train.model.encoder_layers = 1;
  CHECK_THAT(p.message(), ContainsSubstring("train.encoder_layers = 1: must be 0"));
  p.study.train.model.encoder_layers = 0;
  p.study.task.set_kind(headway::TaskKind::kText);
  CHECK_THAT(p.message(), ContainsSubstring("task.kind = \"text\""));
  p.study.train.model.network = training::NetworkKind::kLinearValue;
  p.study.task.set_kind(headway::TaskKind::kFuzzyLogic);
  CHECK_THAT(p.message(), ContainsSubstring("must be \"omniglot\""));
}

TEST_CASE("contributions that are the same on all training examples teach nothing") {
  Problem p;
  p.study.extract.train_examples = 1;
  CHECK(p.message() ==
        "the contributions are the same on all training examples, so nothing can be learned from "
        "them; more training examples may help");
}

TEST_CASE("what needs more than the memory there is is refused with its sizes and settings") {
  const headway::ExtractSizes sizes{.heads = {12, 13}, .features = 128, .splits = {}, .bytes = 4e9};
  CHECK_NOTHROW(headway::require_memory(sizes, 4e9));
  REQUIRE_THROWS_WITH(
      headway::require_memory(sizes, 3e9),
      "extract.layers, extract.parts: parts [12, 13] of 128 features need 3.7 GiB for these "
      "examples: must be at most 2.8 GiB, the memory of this machine");
}
