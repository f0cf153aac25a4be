// Data sets made in memory whose members do not fit each other, and the whole sentence that says
// so.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/align.hpp"
#include "headway/error.hpp"
#include "headway/gram.hpp"
#include "headway/prune.hpp"
#include "headway/sample.hpp"
#include "headway/solve.hpp"
#include "headway/theory/gram.hpp"
#include "headway/verbs/theory/action.hpp"
#include "headway/verbs/theory/plan.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

/// 30 examples of 4 tokens with 5 features, a test set and a further set.
tasks::Dataset good() {
  Rng rng(3, StreamPurpose::kTests);
  tasks::Dataset data = random_dataset({2}, {30, 4, 5}, rng);
  data.name = "mine";
  data.test = random_split({12, 4, 5}, rng);
  data.sets = {{"later", random_split({8, 4, 5}, rng)}};
  return data;
}

/// The same as path features of 2 paths.
tasks::Dataset good_features() {
  Rng rng(4, StreamPurpose::kTests);
  tasks::Dataset data = good();
  data.form = AttentionForm::kPathFeatures;
  for (tasks::Split* split : {&data.train, &*data.test, &data.sets[0].split}) {
    split->examples = nullptr;
    split->path_features = random_matrix(split->size(), 10, rng);
  }
  return data;
}

/// The same as Gram matrices.
tasks::Dataset good_gram() {
  tasks::Dataset data = good_features();
  data.gram = theory::gram_matrices(data.train.path_features, data.train.labels);
  data.train = {};
  data.train.labels.resize(0, 1);
  return data;
}

Study small_study() {
  Study study;
  study.model.widths = {{20}};
  study.model.temperatures = {0.1};
  study.threads = 1;
  study.sample.chains = 1;
  study.sample.draws = study.sample.warmup = 20;
  study.sample.evidence = false;
  return study;
}

Study learning_study() {
  Study study = small_study();
  study.model.attention_prior.emplace();
  return study;
}

/// What the verb says of bad data.
std::string said(const std::function<void()>& verb) {
  try {
    verb();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    return error.what();
  }
  return "none";
}

using Change = std::function<void(tasks::Dataset&)>;

/// What `solve` says of data that were changed.
std::string fault(tasks::Dataset data, const Change& change) {
  change(data);
  Observer quiet;
  return said([&] { solve(small_study(), data, quiet); });
}

class OneArray final : public tasks::ArraySource {
 public:
  explicit OneArray(std::vector<Index> shape) : shape_(std::move(shape)) {}
  [[nodiscard]] const std::vector<Index>& shape() const override { return shape_; }
  void read(Index /*begin*/, Index /*count*/, double* /*out*/) const override {
    FAIL("read although it does not fit");
  }

 private:
  std::vector<Index> shape_;
};

}  // namespace

TEST_CASE("data whose members fit are solved") {
  const auto unchanged = [](tasks::Dataset&) {};
  CHECK(fault(good(), unchanged) == "none");
  CHECK(fault(good_features(), unchanged) == "none");
  CHECK(fault(good_gram(), unchanged) == "none");
  CHECK(fault(good_features(), [](tasks::Dataset& d) { d.layers.clear(); }) == "none");
  CHECK(fault(good(), [](tasks::Dataset& d) { d.train.ids.assign(30, "a"); }) == "none");
}

TEST_CASE("every verb of the theory refuses data without their examples") {
  tasks::Dataset data = good();
  data.train.examples = nullptr;
  const Study study = small_study();
  Observer quiet;
  const std::string expected =
      "mine: train/inputs: is missing; allowed: examples, since form is not that of path features";
  CHECK(said([&] { solve(study, data, quiet); }) == expected);
  CHECK(said([&] { sample(study, data, quiet); }) == expected);
  CHECK(said([&] { align(study, data, quiet); }) == expected);
  CHECK(said([&] { prune(study, data, quiet); }) == expected);
  CHECK(said([&] { gram(study, {data}, quiet); }) == expected);
  CHECK(said([&] { make_action(study, data, quiet); }) == expected);
  CHECK(said([&] { plan_theory(study, data, TheoryVerb::kSolves); }) == expected);
  CHECK(said([&] { solve(learning_study(), data, quiet); }) == expected);
  CHECK(said([&] { sample(learning_study(), data, quiet); }) == expected);
}

TEST_CASE("each split has as many labels as examples") {
  using D = tasks::Dataset;
  const std::string allowed = " rows; allowed: 30, one for each example";
  CHECK(fault(good(), [](D& d) { d.train.labels.conservativeResize(20, 1); }) ==
        "mine: train/labels: has 20" + allowed);
  CHECK(fault(good(), [](D& d) { d.train.labels.setOnes(40, 1); }) ==
        "mine: train/labels: has 40" + allowed);
  CHECK(fault(good(), [](D& d) { d.train.labels.resize(0, 1); }) ==
        "mine: train/labels: has 0" + allowed);
  CHECK(fault(good_features(), [](D& d) { d.train.labels.setOnes(40, 1); }) ==
        "mine: train/labels: has 40" + allowed);
  CHECK(fault(good(), [](D& d) { d.test->labels.setOnes(60, 1); }) ==
        "mine: test/labels: has 60 rows; allowed: 12, one for each example");
  CHECK(fault(good(), [](D& d) { d.sets[0].split.labels.setOnes(7, 1); }) ==
        "mine: sets/later/labels: has 7 rows; allowed: 8, one for each example");
  CHECK(fault(good(), [](D& d) { d.train.labels.resize(30, 0); }) ==
        "mine: train/labels: has no columns; allowed: C, at least 1");
  CHECK(fault(good(), [](D& d) { d.test->labels.setOnes(12, 2); }) ==
        "mine: test/labels: has 2 columns; allowed: C = 1, as in train/labels");
  CHECK(fault(good(), [](D& d) {
          d.train.ids = {"a", "b"};
        }) == "mine: train/ids: has 2 entries; allowed: none, or 30, one for each example");
  CHECK(fault(good_features(), [](D& d) {
          d.train.path_features.resize(0, 10);
          d.train.labels.resize(0, 1);
        }) == "mine: train: has no examples; allowed: at least one");
}

TEST_CASE("each split has the features and tokens that the data set says") {
  using D = tasks::Dataset;
  const auto of_shape = [](const Shape& shape) {
    Rng rng(5, StreamPurpose::kTests);
    return random_split(shape, rng);
  };
  CHECK(fault(good(), [](D& d) { d.features = 6; }) ==
        "mine: train/inputs: has 5 features a token; allowed: N_0 = 6, as features says");
  CHECK(fault(good(), [](D& d) { d.features = 0; }) == "mine: features = 0; allowed: N_0 >= 1");
  CHECK(fault(good(), [&](D& d) {
          d.test = of_shape({12, 4, 7});
        }) == "mine: test/inputs: has 7 features a token; allowed: N_0 = 5, as features says");
  CHECK(fault(good(), [&](D& d) {
          d.train = of_shape({30, 0, 5});
        }) == "mine: train/inputs: has no tokens; allowed: at least one");
  CHECK(fault(good(), [](D& d) {
          d.test->examples = nullptr;
        }).starts_with("mine: test/inputs: is missing; "));
  CHECK(fault(good(), [](D& d) {
          d.sets[0].split.examples = nullptr;
        }).starts_with("mine: sets/later/inputs: is missing; "));
  CHECK(fault(good(), [](D& d) { d.form = AttentionForm::kPathFeatures; }) ==
        "mine: train/inputs: is given; allowed: path features alone, since form is theirs");
  CHECK(fault(good_features(), [](D& d) {
          d.form = AttentionForm::kWeights;
        }).starts_with("mine: train/inputs: is missing; "));
  CHECK(fault(good_features(), [](D& d) { d.train.path_features.conservativeResize(30, 9); }) ==
        "mine: train/path_features: is [30, 9]; allowed: [P, p N_0] = [30, 10]");
  CHECK(fault(good_features(), [](D& d) {
          d.train.path_features.resize(0, 0);
          d.train.feature_source = std::make_shared<OneArray>(std::vector<Index>{30, 3, 5});
        }) == "mine: train/path_features: is [30, 3, 5]; allowed: [P, p N_0] = [30, 10]");
}

TEST_CASE("heads and layers of a data set go together") {
  using D = tasks::Dataset;
  CHECK(fault(good(), [](D& d) { d.layers.clear(); }) ==
        "mine: layers: has 0 entries; allowed: 1, one for each layer of heads = [2]");
  CHECK(fault(good(), [](D& d) { d.layers.resize(2); }) ==
        "mine: layers: has 2 entries; allowed: 1, one for each layer of heads = [2]");
  CHECK(fault(good(), [](D& d) { d.heads.clear(); }) ==
        "mine: heads = []; allowed: one number H_l >= 1 for each layer");
  CHECK(fault(good(), [](D& d) { d.heads = {0}; }) ==
        "mine: heads = [0]; allowed: one number H_l >= 1 for each layer");
  CHECK(fault(good_features(), [](D& d) { d.layers.resize(3); }) ==
        "mine: layers: has 3 entries; allowed: 1, one for each layer of heads = [2]");
}

TEST_CASE("Gram matrices have the shapes of heads, features and outputs") {
  using D = tasks::Dataset;
  CHECK(fault(good_gram(), [](D& d) { d.gram->gram.setIdentity(9, 9); }) ==
        "mine: gram: gram is 9 x 9; allowed: 10 x 10");
  CHECK(fault(good_gram(), [](D& d) { d.gram->projection.setOnes(10, 2); }) ==
        "mine: gram: projection is 10 x 2; allowed: 10 x 1");
  CHECK(fault(good_gram(), [](D& d) { d.gram->label_square.setOnes(1, 2); }) ==
        "mine: gram: label_square is 1 x 2; allowed: 1 x 1");
  CHECK(fault(good_gram(), [](D& d) { d.gram->examples = 0; }) ==
        "mine: gram: examples = 0; allowed: at least 1");
  CHECK(fault(good_gram(), [](D& d) { d.train.labels.resize(0, 0); }) ==
        "mine: train/labels: has no columns; allowed: C, at least 1");
  CHECK(fault(good_gram(), [](D& d) { d.train = good().train; }) ==
        "mine: train: has examples beside Gram matrices; allowed: one of both");
}

TEST_CASE("sets on which learned attention is judged have equally many tokens") {
  tasks::Dataset data = good();
  Rng rng(6, StreamPurpose::kTests);
  data.sets[0].split = random_split({8, 3, 5}, rng);
  Observer quiet;
  CHECK(said([&] { solve(learning_study(), data, quiet); }) ==
        "mine: sets/later/inputs: has 3 tokens; allowed with model.attention_prior: S = 4, as in "
        "the first set that predictors are judged on");
  CHECK(said([&] { solve(small_study(), data, quiet); }) == "none");
}
