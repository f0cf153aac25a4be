#include "headway/training/evaluation.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"

using namespace headway::training;  // NOLINT: a test
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

std::vector<std::string> names_of(const Evaluation& evaluation) {
  std::vector<std::string> names;
  for (const Metric& metric : evaluation.metrics) names.push_back(metric.name);
  return names;
}

}  // namespace

TEST_CASE("R^2 per example and pooled are those computed by hand, in pieces too") {
  Evaluator evaluator({4, 2, 0, 1, LossKind::kSquaredError, 1, false, {}});
  TaskBatch batch;
  batch.examples = 2;
  batch.targets = {1.0F, 3.0F};
  batch.target_variances = {0.5F, 2.0F};
  evaluator.add(batch, std::vector<float>{1.5F, 2.0F});
  batch.examples = 1;
  batch.targets = {8.0F};
  batch.target_variances = {0.0F};  // a constant sequence has no R^2 of its own
  evaluator.add(batch, std::vector<float>{6.0F});
  const Evaluation result = evaluator.result();
  CHECK(result.examples == 3);
  const double errors = 0.25 + 1.0 + 4.0;
  CHECK_THAT(result.loss, WithinRel(errors / 3, 1e-12));
  CHECK_THAT(result.metric("r2"), WithinRel(((1 - 0.25 / 0.5) + (1 - 1.0 / 2.0)) / 2, 1e-12));
  CHECK_THAT(result.metric("r2_pooled"), WithinRel(1 - errors / (9.0 + 1.0 + 16.0), 1e-12));
  CHECK(names_of(result) == std::vector<std::string>{"r2", "r2_pooled"});
}

TEST_CASE("Outputs that are no numbers make undefined metrics, and leave none out") {
  // A curve has a column for each metric, so evaluations of a split must have the same ones.
  Evaluator evaluator({4, 2, 0, 1, LossKind::kSquaredError, 1, false, {}});
  TaskBatch batch;
  batch.examples = 2;
  batch.targets = {1.0F, 3.0F};
  batch.target_variances = {0.5F, 2.0F};
  evaluator.add(batch, std::vector<float>{1.5F, std::nanf("")});
  const Evaluation result = evaluator.result();
  CHECK(names_of(result) == std::vector<std::string>{"r2", "r2_pooled"});
  CHECK(std::isnan(result.metric("r2")));
  CHECK(std::isnan(result.metric("r2_pooled")));
  CHECK(std::isnan(result.loss));
}

TEST_CASE("Logits that are no numbers have no accuracy, though the first is as large as any") {
  for (const int scored : {1, 2}) {  // of two tokens: all of them right, or each by itself
    Evaluator evaluator({2, 0, 2, 2, LossKind::kCrossEntropy, scored, false, {}});
    TaskBatch batch;
    batch.examples = 1;
    batch.classes.assign(static_cast<std::size_t>(scored), 0);
    const std::vector<float> outputs(static_cast<std::size_t>(2 * scored), std::nanf(""));
    evaluator.add(batch, outputs);
    CHECK(std::isnan(evaluator.result().metric("accuracy")));
  }
}

TEST_CASE("Accuracy asks for every answer, accuracy per feature for each") {
  Evaluator evaluator({9, 3, 0, 2, LossKind::kCrossEntropy, 2, false, true});
  TaskBatch batch;
  batch.examples = 2;
  batch.classes = {0, 1, 1, 1};
  evaluator.add(batch, std::vector<float>{1, 0, 0, 2, 3, 0, 0, 1});
  const Evaluation result = evaluator.result();
  CHECK(result.metric("accuracy") == 0.5);
  CHECK(result.metric("accuracy_per_feature") == 0.75);
  const auto nats = [](double margin) { return std::log1p(std::exp(-margin)); };
  CHECK_THAT(result.loss, WithinRel((nats(1) + nats(2) + nats(-3) + nats(1)) / 4, 1e-12));
  CHECK(names_of(result) == std::vector<std::string>{"accuracy", "accuracy_per_feature"});
}

TEST_CASE("Targets of weight 0 count nowhere, whatever they are") {
  Evaluator classes({3, 2, 0, 2, LossKind::kCrossEntropy, 2, false, false, true, {}});
  TaskBatch batch;
  batch.examples = 2;
  batch.classes = {0, 1, 1, 0};
  batch.weights = {0.0F, 1.5F, 0.0F, 0.0F};  // the second example counts nowhere
  classes.add(batch, std::vector<float>{std::nanf(""), 0, 0, 2, 3, 0, 0, 1});
  CHECK(classes.result().metric("accuracy") == 1.0);
  CHECK_THAT(classes.result().loss, WithinRel(std::log1p(std::exp(-2.0)), 1e-12));
  CHECK(classes.result().examples == 2);

  Evaluator numbers({3, 2, 0, 2, LossKind::kSquaredError, 2, false, false, true, {}});
  batch.classes.clear();
  batch.targets = {1, 10, std::nanf(""), 7, 3, 20, 3, 3};
  batch.weights = {1.0F, 0.0F, 1.0F, 0.0F};
  numbers.add(batch, std::vector<float>{1, 10, 0, 0, 3, 22, 0, 0});
  // Outputs have means of their own, here 2 and 15.
  CHECK_THAT(numbers.result().loss, WithinRel(4.0 / 4, 1e-12));
  CHECK_THAT(numbers.result().metric("r2_pooled"), WithinRel(1 - 4.0 / (2.0 + 50.0), 1e-12));
}

TEST_CASE("Targets without variances of their own are scored by the pooled variance") {
  const TaskFormat format{4, 2, 0, 1, LossKind::kSquaredError, 1, false, {}};
  TaskBatch batch;
  batch.examples = 3;
  batch.targets = {1.0F, 3.0F, 8.0F};
  const std::vector<float> outputs = {1.5F, 2.0F, 6.0F};
  Evaluator evaluator(format);
  CHECK(std::isnan(evaluator.target_variance()));
  evaluator.add(batch, outputs);
  CHECK_THAT(evaluator.target_variance(), WithinRel(26.0 / 3.0, 1e-12));
  CHECK(example_metric(format, batch) == "r2_pooled");
  double mean = 0.0;
  for (const ExampleScore& score : example_scores(format, batch, outputs)) {
    mean += example_metric_value(format, batch, score, evaluator.target_variance()) / 3.0;
    CHECK(std::isnan(example_metric_value(format, batch, score, 0.0)));  // constant targets
  }
  CHECK_THAT(mean, WithinRel(evaluator.result().metric("r2_pooled"), 1e-12));
}

TEST_CASE("Bits per byte count the bytes of the targets; perplexity the tokens") {
  Evaluator evaluator({2, 0, 2, 2, LossKind::kCrossEntropy, 2, false, false, false, {1.0, 3.0}});
  TaskBatch batch;
  batch.examples = 1;
  batch.classes = {0, 1};
  evaluator.add(batch, std::vector<float>{0, 0, 0, 0});
  const Evaluation result = evaluator.result();
  CHECK_THAT(result.metric("bits_per_byte"), WithinRel(2.0 / 4.0, 1e-12));
  CHECK_THAT(result.metric("perplexity"), WithinRel(2.0, 1e-12));
  CHECK(result.metric("accuracy") == 0.5);
  CHECK(names_of(result) == std::vector<std::string>{"accuracy", "bits_per_byte", "perplexity"});
}

TEST_CASE("Huge logits make no NaN, and the wrong number of outputs is a bug") {
  Evaluator evaluator({1, 1, 0, 2, LossKind::kCrossEntropy, 1, false, {}});
  TaskBatch batch;
  batch.examples = 1;
  batch.classes = {1};
  evaluator.add(batch, std::vector<float>{3e38F, -3e38F});
  CHECK(std::isfinite(evaluator.result().loss));
  CHECK_THROWS_AS(evaluator.add(batch, std::vector<float>{1.0F}), headway::Error);
  CHECK(std::isnan(Evaluator({1, 1, 0, 2, LossKind::kCrossEntropy, 1, false, {}}).result().loss));
}

TEST_CASE("Targets that are signs have an accuracy, and an output of 0 is wrong") {
  TaskFormat format;
  format.tokens = 4;
  format.features = 2;
  format.outputs = 1;
  format.scored = 1;
  format.signs = true;
  TaskBatch batch;
  batch.examples = 4;
  batch.targets = {1.0F, -1.0F, 1.0F, -1.0F};
  Evaluator evaluator(format);
  evaluator.add(batch, std::vector<float>{0.1F, -3.0F, 0.0F, 0.2F});
  evaluator.add(batch, std::vector<float>{2.0F, -1.0F, 1.0F, -0.1F});
  CHECK(evaluator.result().metric("accuracy") == 6.0 / 8.0);
  Evaluator undefined(format);  // NaN has no sign
  undefined.add(batch, std::vector<float>(4, std::nanf("")));
  CHECK(std::isnan(undefined.result().metric("accuracy")));
  const auto scores = example_scores(format, batch, std::vector<float>(4, std::nanf("")));
  CHECK(std::isnan(example_metric_value(format, batch, scores.front(), 1.0)));
  format.signs = false;
  Evaluator without(format);
  without.add(batch, std::vector<float>{0.1F, -3.0F, 0.0F, 0.2F});
  CHECK(std::isnan(without.result().metric("accuracy")));
}
