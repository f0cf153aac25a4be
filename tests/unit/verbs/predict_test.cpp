// New inputs: what a result says of them is what solve and sample say of the same inputs as a test
// set.
#include "headway/predict.hpp"

#include <atomic>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/sample.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using headway::PredictedSet;
using headway::PredictResult;
using headway::Study;
using tasks::Dataset;

namespace {

constexpr Index kTokens = 4, kFeatures = 3;
constexpr double kRounding = 1e-9;

Dataset random_dataset(Index outputs) {
  Rng rng(5, StreamPurpose::kTests, 1);
  Dataset data = testing::random_dataset({2, 2}, {12, kTokens, kFeatures}, rng, outputs);
  data.test = testing::random_split({9, kTokens, kFeatures}, rng, outputs);
  return data;
}

/// The test inputs of `data` without labels and heads.
Dataset inputs_of(const Dataset& data) {
  Dataset inputs;
  inputs.name = "new";
  inputs.features = data.features;
  inputs.sets = {{"later", *data.test}};
  inputs.sets[0].split.labels.resize(data.test->size(), 0);
  return inputs;
}

Study small_study() {
  Study study;
  study.model.widths = {{20}, {200}};
  study.model.temperatures = {0.1};
  study.threads = 1;
  study.sample.chains = 2;
  study.sample.draws = 50;
  study.sample.warmup = 100;
  study.sample.predictor_draws = 20;
  study.sample.evidence = false;
  return study;
}

template <class Result>
PredictResult predicted(const Dataset& data, const Dataset& inputs, const Result& result,
                        Observer& observer) {
  return headway::predict(small_study(), headway::with_inputs(small_study(), data, inputs),
                          headway::input_names(inputs), result, observer);
}
template <class Result>
PredictResult predicted(const Dataset& data, const Dataset& inputs, const Result& result) {
  Observer observer;
  return predicted(data, inputs, result, observer);
}

/// Nearly the same numbers.
bool close(const MatrixXd& a, const MatrixXd& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         (a.size() == 0 || (a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < kRounding);
}

std::string refusal(const Dataset& data, const Dataset& inputs) {
  try {
    headway::with_inputs(small_study(), data, inputs);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace

TEST_CASE("new inputs of another readout than that of the training are refused") {
  const Dataset data = random_dataset(1);
  Dataset inputs = inputs_of(data);
  CHECK(refusal(data, inputs) == "nothing was refused");
  inputs.readout = headway::Readout::kMean;
  CHECK(refusal(data, inputs) ==
        inputs.name + ": has readout \"mean\"; allowed: \"last_token\", as the training had");
  inputs.readout = headway::Readout::kLastToken;
  CHECK(refusal(data, inputs) == "nothing was refused");
}

TEST_CASE("path features of an unknown readout go with any") {
  Dataset data = random_dataset(1);
  Dataset inputs = inputs_of(data);
  data.form = inputs.form = headway::AttentionForm::kPathFeatures;
  inputs.readout = headway::Readout::kMean;
  CHECK(refusal(data, inputs) == "nothing was refused");
  data.readout = headway::Readout::kLastToken;
  CHECK(refusal(data, inputs) ==
        inputs.name + ": has readout \"mean\"; allowed: \"last_token\", as the training had");
}

TEST_CASE("a result of solve predicts its own test set as it did when it was solved") {
  Observer observer;
  for (const Index outputs : {1, 3}) {
    const Dataset data = random_dataset(outputs);
    const headway::SolveResult solved = headway::solve(small_study(), data, observer);
    const PredictResult result = predicted(data, inputs_of(data), solved);
    REQUIRE(result.points.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      const headway::PredictedPoint& point = result.points[i];
      CHECK(point.widths == solved.points[i].widths);
      CHECK(point.draws == 0);
      REQUIRE(point.sets.size() == 1);
      const PredictedSet& set = point.sets[0];
      CHECK(set.name == "later");
      const headway::PredictorReport& known = solved.points[i].predictor;
      CHECK(close(set.mean, known.mean));
      CHECK(close(set.deviation.cwiseAbs2(), known.variance));
      REQUIRE(set.predicted_class.size() == 9);
      double right = 0.0;
      for (Index r = 0; r < 9; ++r) {
        const MatrixXd& y = data.test->labels;
        const int answer = set.predicted_class[static_cast<std::size_t>(r)];
        right += outputs == 1 ? answer == y(r, 0) : y(r, answer) == 1.0;
      }
      CHECK_THAT(right / 9.0, Catch::Matchers::WithinAbs(known.accuracy, kRounding));
    }
  }
}

TEST_CASE("every set of the inputs has the predictions that it has alone") {
  Observer observer;
  for (const Index outputs : {1, 3}) {
    const Dataset data = random_dataset(outputs);
    const headway::SolveResult solved = headway::solve(small_study(), data, observer);
    Rng rng(6, StreamPurpose::kTests, 2);
    Dataset inputs = inputs_of(data);
    for (const Index examples : {4, 7}) {
      inputs.sets.push_back({"of" + std::to_string(examples),
                             testing::random_split({examples, kTokens, kFeatures}, rng, outputs)});
    }
    const PredictResult together = predicted(data, inputs, solved);
    REQUIRE(together.points.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      REQUIRE(together.points[i].sets.size() == 3);
      for (std::size_t s = 0; s < 3; ++s) {
        Dataset alone = inputs;
        alone.sets = {inputs.sets[s]};
        const PredictedSet wanted = predicted(data, alone, solved).points[i].sets.at(0);
        const PredictedSet& set = together.points[i].sets[s];
        CHECK(set.name == inputs.sets[s].name);
        CHECK(set.mean.rows() == inputs.sets[s].split.size());
        CHECK(close(set.mean, wanted.mean));
        CHECK(close(set.deviation, wanted.deviation));
        CHECK(set.predicted_class == wanted.predicted_class);
        CHECK(set.right_sign_probability.rows() == (outputs == 1 ? set.mean.rows() : 0));
        CHECK(close(set.right_sign_probability, wanted.right_sign_probability));
      }
    }
  }
}

TEST_CASE("the probability of the right sign agrees with the one that solve averages") {
  Observer observer;
  const Dataset data = random_dataset(1);
  const headway::SolveResult solved = headway::solve(small_study(), data, observer);
  const PredictedSet set = predicted(data, inputs_of(data), solved).points[0].sets[0];
  double mean = 0.0;
  for (Index r = 0; r < 9; ++r) {
    const double p = set.right_sign_probability(r, 0);
    CHECK(p >= 0.5);  // of the sign of the mean
    mean += (set.mean(r, 0) * data.test->labels(r, 0) > 0.0 ? p : 1.0 - p) / 9.0;
  }
  CHECK_THAT(mean, Catch::Matchers::WithinAbs(solved.points[0].predictor.right_sign_probability,
                                              kRounding));
}

TEST_CASE("a result of sample predicts with the draws that it predicted with itself") {
  Observer observer;
  const Dataset data = random_dataset(1);
  const headway::SampleResult sampled = headway::sample(small_study(), data, observer);
  const PredictResult result = predicted(data, inputs_of(data), sampled);
  REQUIRE(result.points.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(result.points[i].draws == 40);  // 20 of each of 2 chains
    CHECK(result.points[i].method == "exact");
    const PredictedSet& set = result.points[i].sets[0];
    CHECK(close(set.mean, sampled.points[i].predictor.mean));
    CHECK(close(set.deviation.cwiseAbs2(), sampled.points[i].predictor.variance));
    CHECK(set.right_sign_probability.rows() == 9);
  }
}

TEST_CASE("a result of other data, whose U gives no kernel, is refused") {
  Observer observer;
  const Dataset data = random_dataset(1);
  headway::SolveResult solved = headway::solve(small_study(), data, observer);
  solved.points[1].order_parameters.layers.front() *= -100.0;
  CHECK_THROWS_WITH(predicted(data, inputs_of(data), solved),
                    "K(U_1) + T I is not positive definite at temperature 0.1: U_1 is not that of "
                    "these data");
}

TEST_CASE(
    "results of other heads or outputs, and names that are not those of the sets, are refused") {
  const Study study = small_study();
  const Dataset data = random_dataset(1);
  const SolveResult solved = solve(study, data);
  const Dataset all = with_inputs(study, data, inputs_of(data));
  CHECK_THROWS_WITH(predict(study, all, {"later", "more"}, solved),
                    "predict: 2 names of sets; allowed: 1, as many as the data set has: "
                    "with_inputs() and input_names() make both");
  const Dataset two = random_dataset(2);
  CHECK_THROWS_WITH(predict(study, with_inputs(study, two, inputs_of(two)), {"later"}, solved),
                    "predict: U_1 of the result is 4 x 4; allowed: 8 x 8, the paths times the "
                    "outputs of the data");
}

TEST_CASE("predict tells its points") {
  class Share final : public Observer {
   public:
    void progress(std::string_view stage, double done, double total) override {
      if (stage == "predict") told.emplace_back(done, total);
    }
    std::vector<std::pair<double, double>> told;
  };
  Observer observer;
  const Dataset data = random_dataset(1);
  const headway::SolveResult solved = headway::solve(small_study(), data, observer);
  Share share;
  const PredictResult result = predicted(data, inputs_of(data), solved, share);
  CHECK(share.told == std::vector<std::pair<double, double>>{{1.0, 2.0}, {2.0, 2.0}});
  CHECK(result.threads == 1);
}

TEST_CASE("what was predicted before an interruption is kept") {
  class StopAfterPoint final : public Observer {
   public:
    void progress(std::string_view stage, double /*done*/, double /*total*/) override {
      if (stage == "predict") begun = true;
    }
    /// Not between two points, but while the second is predicted.
    [[nodiscard]] bool interrupted() const override { return begun && ++asked > 1; }
    bool begun = false;
    mutable std::atomic<int> asked{0};
  };
  Observer observer;
  const Dataset data = random_dataset(1);
  const Dataset inputs = inputs_of(data);
  const headway::SampleResult sampled = headway::sample(small_study(), data, observer);
  StopAfterPoint stop;
  const PredictResult result = predicted(data, inputs, sampled, stop);
  CHECK(result.interrupted);
  REQUIRE(result.points.size() == 1);
  CHECK(close(result.points[0].sets[0].mean,
              predicted(data, inputs, sampled).points[0].sets[0].mean));
}

TEST_CASE("inputs of another kind are refused with what is allowed") {
  const Dataset data = random_dataset(1);
  CHECK(refusal(data, inputs_of(data)) == "nothing was refused");
  Dataset other = inputs_of(data);
  other.features = 7;
  CHECK(refusal(data, other) == "new: has 7 features a token; allowed: N_0 = 3 as in random");
  other = inputs_of(data);
  other.form = AttentionForm::kPathFeatures;
  CHECK_THAT(refusal(data, other),
             Catch::Matchers::ContainsSubstring("holds path features; allowed: inputs"));
  other = inputs_of(data);
  other.heads = {2, 3};
  other.layers.resize(2);
  CHECK(refusal(data, other) == "new: has heads [2, 3]; allowed: [2, 2] as in random");
  other = inputs_of(data);
  other.heads = data.heads;
  other.layers = data.layers;
  CHECK(refusal(data, other) == "nothing was refused");
  other.layers[1].weights[0](0, 0) += 1.0;
  CHECK(refusal(data, other) ==
        "new: has other attention than random; allowed: inputs alone, or the same heads");
}
