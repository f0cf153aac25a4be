// A trained linear-value network as a data set of the theory: its heads, its weights, its answers.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/labels.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/extract.hpp"
#include "headway/model/linear_value_network.hpp"
#include "image_sets.hpp"
#include "reference_path_features.hpp"

using namespace headway;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using training::NamedTensor;

namespace {

constexpr Index kWidth = 5;
constexpr Index kHeads = 2;
constexpr Index kDims = 3;  // of a head's queries

NamedTensor tensor(const std::string& name, std::vector<Index> shape, double scale, Rng& rng) {
  Index count = 1;
  for (const Index n : shape) count *= n;
  NamedTensor out{name, std::move(shape), {}};
  for (Index i = 0; i < count; ++i) out.values.push_back(static_cast<float>(scale * rng.normal()));
  return out;
}

/// Two layers of two heads.
std::vector<NamedTensor> parameters() {
  Rng rng(21, StreamPurpose::kTests);
  const Index n0 = tasks::kOneShotFeatures;
  std::vector<NamedTensor> all = {tensor("input.weight", {kWidth, n0}, 1.0, rng)};
  for (const std::string layer : {"layers.1.", "layers.2."}) {
    all.push_back(tensor(layer + "query.weight", {kHeads, kDims, n0}, 0.1, rng));
    all.push_back(tensor(layer + "key.weight", {kHeads, kDims, n0}, 0.1, rng));
    all.push_back(tensor(layer + "value.weight", {kHeads, kWidth, kWidth}, 1.0, rng));
  }
  all.push_back(tensor("readout.weight", {1, kWidth}, 1.0, rng));
  return all;
}

struct Problem {
  Problem() {
    study.name = "drawings";
    study.threads = 2;
    study.task.set_kind(TaskKind::kOmniglot);
    study.train.model.network = training::NetworkKind::kLinearValue;
    study.train.model.layers = 2;
    study.train.model.heads = kHeads;
    study.train.model.model_dim = kWidth;
    study.train.model.query_dim = kHeads * kDims;
    study.extract.train_examples = 6;
    study.extract.test_examples = 5;
    study.extract.validation_examples = 4;
    study.extract.out_of_distribution_examples = 3;
    make_images(0.25);
  }
  void make_images(double test_share) {
    using Generator = tasks::OneShotImagesGenerator;
    tasks::OneShotImagesOptions options;
    options.test = test_share;
    examples.images = std::make_shared<Generator>(testing::random_image_set(24), options);
    examples.out_of_distribution = {
        {"digits", std::make_shared<Generator>(
                       Generator::out_of_distribution(testing::random_image_set(5), options))}};
  }
  [[nodiscard]] ExtractResult extract() const {
    Observer observer;
    return headway::extract(study, parameters(), examples, observer);
  }
  [[nodiscard]] std::string fault() const {
    try {
      static_cast<void>(extract());
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }

  Study study;
  training::OneShotExamples examples;
};

/// The network itself on a split, layer by layer.
VectorXd answers_of(const tasks::Dataset& data, const tasks::Split& split) {
  const Index s = tasks::kOneShotTokens, n0 = tasks::kOneShotFeatures;
  VectorXd out(split.size());
  RowMatrixXd x(s, n0);
  for (Index i = 0; i < split.size(); ++i) {
    split.examples->read_inputs(i, 1, x.data());
    std::vector<std::vector<MatrixXd>> attention;
    for (const LayerHeads& layer : data.layers) {
      attention.push_back(reference::softmax_attention(x, layer));
    }
    out[i] = model::network_output(*data.network, x, attention,
                                   model::readout_vector(Readout::kMean, s))(0);
  }
  return out;
}

}  // namespace

TEST_CASE("the heads and weights of a linear-value network are those of its parameters") {
  const Problem problem;
  const ExtractResult out = problem.extract();
  const tasks::Dataset& data = out.dataset;
  CHECK(data.name == "drawings");
  CHECK(data.form == AttentionForm::kQueryKey);
  CHECK(data.heads == std::vector<int>{2, 2});
  CHECK(data.readout == Readout::kMean);
  const std::vector<NamedTensor> given = parameters();
  REQUIRE(data.network.has_value());
  const auto check = [&given](const std::string& name, Index head, const MatrixXd& found) {
    INFO(name << ", head " << head);
    const auto named = std::find_if(given.begin(), given.end(),
                                    [&name](const NamedTensor& t) { return t.name == name; });
    REQUIRE(named != given.end());
    RowMatrixXd wanted(found.rows(), found.cols());
    for (Index i = 0; i < wanted.size(); ++i) {
      wanted.data()[i] = named->values[static_cast<std::size_t>(head * wanted.size() + i)];
    }
    CHECK(found == wanted);
  };
  check("input.weight", 0, data.network->input);
  check("readout.weight", 0, data.network->readout);
  for (std::size_t l = 0; l < 2; ++l) {
    const std::string layer = "layers." + std::to_string(l + 1);
    for (std::size_t h = 0; h < kHeads; ++h) {
      const auto head = static_cast<Index>(h);
      check(layer + ".query.weight", head, data.layers[l].query[h]);
      check(layer + ".key.weight", head, data.layers[l].key[h]);
      check(layer + ".value.weight", head, data.network->values[l][h]);
    }
  }
  const MatrixXd v = model::effective_weights(*data.network);
  CHECK((out.order_parameter - v * v.transpose() / static_cast<double>(kWidth)).norm() <
        1e-12 * out.order_parameter.norm());
}

TEST_CASE("what the network itself does on each set is told, by the share of right signs") {
  const Problem problem;
  const ExtractResult out = problem.extract();
  const tasks::Dataset& data = out.dataset;
  const std::vector<std::pair<std::string, const tasks::Split*>> wanted = {
      {"train", &data.train},
      {"test", &*data.test},
      {"validation", &data.sets.at(0).split},
      {"digits", &data.sets.at(1).split}};
  REQUIRE(out.splits.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(out.splits[i].name == wanted[i].first);
    const tasks::Split& split = *wanted[i].second;
    CHECK(out.splits[i].examples == static_cast<Index>(6 - i));
    REQUIRE(split.size() == static_cast<Index>(6 - i));
    const VectorXd answers = answers_of(data, split);
    double right = 0.0, square = 0.0;
    for (Index k = 0; k < split.size(); ++k) {
      right += answers[k] * split.labels(k, 0) > 0.0 ? 1.0 : 0.0;
      square += std::pow(answers[k] - split.labels(k, 0), 2);
    }
    const auto count = static_cast<double>(split.size());
    CHECK_THAT(out.splits[i].accuracy, WithinAbs(right / count, 1e-15));
    CHECK_THAT(out.splits[i].mean_squared_error, WithinRel(square / count, 1e-10));
  }
  CHECK(data.sets[0].name == tasks::kValidationSet);
  CHECK(data.sets[1].name == "digits");
}

TEST_CASE("sets without examples are left out, and the hash of the data knows the others") {
  Problem problem;
  const std::string all = problem.extract().dataset.content_hash;
  CHECK(all.size() == 64);
  CHECK(problem.extract().dataset.content_hash == all);
  problem.study.extract.out_of_distribution_examples = 2;
  CHECK(problem.extract().dataset.content_hash != all);
  problem.study.extract.out_of_distribution_examples = 0;
  const ExtractResult fewer = problem.extract();
  CHECK(fewer.dataset.content_hash != all);
  CHECK(fewer.dataset.sets.size() == 1);
  problem.study.extract.validation_examples = 0;
  const ExtractResult bare = problem.extract();
  CHECK(bare.dataset.sets.empty());
  problem.make_images(0.0);
  const ExtractResult untested = problem.extract();
  CHECK(untested.dataset.content_hash != bare.dataset.content_hash);
  CHECK_FALSE(untested.dataset.test.has_value());
  REQUIRE(untested.splits.size() == 1);
  CHECK(untested.splits[0].name == "train");
}

TEST_CASE("weights of another network than the study's are refused with the sizes of both") {
  const std::string weights =
      "the weights belong to a network with heads [2, 2], 192 features, width 5 and 3 query dims a "
      "head: must have ";
  const auto fault = [&](Index layers, Index heads, Index width, Index query_dim) {
    Problem problem;
    training::TransformerOptions& model = problem.study.train.model;
    model.layers = layers;
    model.heads = heads;
    model.model_dim = width;
    model.query_dim = query_dim;
    return problem.fault();
  };
  CHECK(fault(2, 2, 5, 6) == "none");
  CHECK(fault(3, 2, 5, 6) == weights +
                                 "3 layers of 2 heads, 192 features, width 5 and 3 query dims a "
                                 "head, as in the study");
  CHECK(fault(2, 3, 5, 9) == weights +
                                 "2 layers of 3 heads, 192 features, width 5 and 3 query dims a "
                                 "head, as in the study");
  CHECK(fault(2, 2, 6, 6) == weights +
                                 "2 layers of 2 heads, 192 features, width 6 and 3 query dims a "
                                 "head, as in the study");
  CHECK(fault(2, 2, 5, 8) == weights +
                                 "2 layers of 2 heads, 192 features, width 5 and 4 query dims a "
                                 "head, as in the study");
}

TEST_CASE("studies whose networks cannot be extracted say which key, and what it must be") {
  const auto fault = [](const Study& study) -> std::string {
    try {
      check_extractable(study);
    } catch (const OptionError& error) {
      return error.what();
    }
    return "none";
  };
  Problem problem;
  Study& study = problem.study;
  CHECK(fault(study) == "none");
  const std::string for_transformers =
      ": must be absent for train.network = \"linear_value\": it is for transformers";
  ExtractOptions& wanted = study.extract;
  const ExtractOptions none = wanted;
  wanted.layers = {1};
  CHECK(fault(study) == "extract.layers" + for_transformers);
  wanted = none;
  wanted.form = ExtractForm::kAttention;
  CHECK(fault(study) == "extract.form" + for_transformers);
  wanted = none;
  wanted.parts = training::GeneratedParts::kHeads;
  CHECK(fault(study) == "extract.parts" + for_transformers);
  wanted = none;
  wanted.position = 1;
  CHECK(fault(study) == "extract.position" + for_transformers);
  wanted = none;
  study.task.set_kind(TaskKind::kSraven);
  CHECK(fault(study) ==
        "task.kind = \"sraven\": must be \"omniglot\" for train.network = \"linear_value\"");
  study.train.model.network = training::NetworkKind::kTransformer;
  wanted.layers = {1};
  wanted.position = 1;
  CHECK(fault(study) == "none");
  study.train.model.encoder_layers = 2;
  CHECK(fault(study) == "train.encoder_layers = 2: must be 0: the theory has no encoder");
  study.task.set_kind(TaskKind::kText);
  CHECK(
      fault(study) ==
      "task.kind = \"text\": must be another one: texts have too many classes, and every token is "
      "scored");
}
