// Studies with a value network: which data they take, what pruning removes, what samples report.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/memory.hpp"
#include "headway/error.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/prune.hpp"
#include "headway/solve.hpp"
#include "headway/verbs/theory/plan.hpp"
#include "larger.hpp"
#include "random_examples.hpp"
#include "verbs/theory/value_problem.hpp"
#include "verbs/theory/value_sample.hpp"
#include "verbs/theory/without_heads.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kHeads = 3;
constexpr Shape kTrain = {.examples = 7, .tokens = 3, .features = 2};
constexpr Shape kTest = {.examples = 4, .tokens = 3, .features = 2};
constexpr double kRounding = 1e-9;

/// Signed attention; that of one head may be 0.
tasks::Split split_of(const Shape& shape, int without, Rng& rng) {
  const Tensor inputs = random_tensor({shape.examples, shape.tokens, shape.features}, rng);
  Tensor attention = random_tensor({shape.examples, kHeads, shape.tokens, shape.tokens}, rng);
  const Index size = shape.tokens * shape.tokens;
  for (Index i = 0; without >= 0 && i < shape.examples; ++i)
    std::fill_n(attention.values.begin() + (i * kHeads + without) * size, size, 0.0);
  tasks::Split split;
  split.examples = std::make_shared<tasks::MemoryExamples>(inputs, std::vector<std::uint8_t>{},
                                                           std::vector<Tensor>{attention});
  split.labels = random_matrix(shape.examples, 1, rng);
  return split;
}

tasks::Dataset signed_dataset(int without = -1) {
  Rng rng(23, StreamPurpose::kTests);
  tasks::Dataset data;
  data.name = "data.h5";
  data.form = AttentionForm::kSupplied;
  data.heads = {kHeads};
  data.layers.resize(1);
  data.features = kTrain.features;
  data.any_rows = true;
  data.train = split_of(kTrain, without, rng);
  data.test = split_of(kTest, without, rng);
  data.content_hash = "none";
  return data;
}

Study small_study(model::ValueForm form,
                  model::FeatureLearning features = model::FeatureLearning::kFixed) {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  study.model.widths = {{6, 5}};
  study.model.temperatures = {0.2};
  study.model.readout = Readout::kMean;
  study.model.value_network = model::ValueNetwork{form, numerics::Nonlinearity::kRelu, features};
  study.threads = 1;
  return study;
}

std::string fault(const Study& study, const tasks::Dataset& data) {
  try {
    check_study_against_dataset(study, data);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("data on which no value network can act are refused") {
  Study study = small_study(model::ValueForm::kHyla);
  CHECK(fault(study, signed_dataset()) == "none");
  tasks::Dataset features = signed_dataset();
  features.any_rows = false;
  for (tasks::Split* split : {&features.train, &*features.test}) {
    split->examples = nullptr;
    split->path_features = RowMatrixXd::Ones(split->size(), kHeads * kTrain.features);
  }
  features.form = AttentionForm::kPathFeatures;
  features.readout = study.model.readout;
  CHECK_THAT(fault(study, features), ContainsSubstring("data.h5: holds path features, where no "
                                                       "value network can act"));
  study.model.value_network.reset();
  CHECK_THAT(fault(study, signed_dataset()),
             ContainsSubstring("allowed with model.value_network only"));
  CHECK(fault(study, features) == "none");
}

TEST_CASE("a covariance of hidden weights that does not fit is refused with its size") {
  using model::FeatureLearning;
  tasks::Dataset data = signed_dataset();
  for (const FeatureLearning features : {FeatureLearning::kFixed, FeatureLearning::kAdapted}) {
    Study study = small_study(model::ValueForm::kHyla, features);
    const double bytes = 8.0 * 36.0 * (features == FeatureLearning::kAdapted ? 60.0 : 6.0);
    study.solve.memory_limit_gib = 1.01 * bytes / kGibibyte;
    CHECK(fault(study, data) == "none");
    study.solve.memory_limit_gib = 0.99 * bytes / kGibibyte;
    CHECK_THAT(fault(study, data), ContainsSubstring("d = 6 numbers"));
  }
}

TEST_CASE("a pruned head leaves the theory that its data without its attention have") {
  using model::ValueForm;
  Observer quiet;
  for (const ValueForm form : {ValueForm::kHyla, ValueForm::kPerHead, ValueForm::kBeforeAttention,
                               ValueForm::kAfterAttention}) {
    INFO(word_of(form));
    const Study study = small_study(form);
    const TheoryProblem whole = make_problem(study, signed_dataset(), quiet);
    const SolveResult solved = solve(study, signed_dataset(), quiet);
    const SolvePoint& point = solved.points.front();
    const MatrixXd& u = point.order_parameters.layers.front();
    const WithoutHeads heads(whole, study, point);
    for (int h = 0; h < kHeads; ++h) {
      const TheoryProblem expected = make_problem(study, signed_dataset(h), quiet);
      const TheoryProblem pruned = heads.changes_kernels() ? *heads.problem({h}) : whole;
      if (heads.changes_kernels()) CHECK(heads.problem({h}) == heads.problem({h}));  // made once
      const MatrixXd rest = heads.order_parameter(u, {h});
      const MatrixXd gap = pruned.kernels->kernel(rest) - expected.kernels->kernel(u);
      CHECK(gap.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < kRounding);
      const MatrixXd mean = pruned.kernels->predictive_mean(rest, 0.2, pruned.evaluation_features);
      const MatrixXd other =
          expected.kernels->predictive_mean(u, 0.2, expected.evaluation_features);
      CHECK((mean - other).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < kRounding);
    }
  }
}

TEST_CASE("without all heads of a value network nothing is left") {
  Observer quiet;
  for (const model::ValueForm form : {model::ValueForm::kHyla, model::ValueForm::kAfterAttention}) {
    const Study study = small_study(form);
    const TheoryProblem whole = make_problem(study, signed_dataset(), quiet);
    const SolveResult solved = solve(study, signed_dataset(), quiet);
    const WithoutHeads heads(whole, study, solved.points.front());
    const TheoryProblem none = *heads.problem({0, 1, 2});
    const MatrixXd& u = solved.points.front().order_parameters.layers.front();
    CHECK(none.kernels->predictive_mean(u, 0.2, none.evaluation_features)
              .cwiseAbs()
              .maxCoeff<Eigen::PropagateNaN>() == 0.0);
  }
}

TEST_CASE("pruning ranks the heads of every form, with fixed and adapted features") {
  using model::FeatureLearning;
  Observer quiet;
  for (const model::ValueForm form : {model::ValueForm::kHyla, model::ValueForm::kAfterAttention}) {
    for (const FeatureLearning features : {FeatureLearning::kFixed, FeatureLearning::kAdapted}) {
      Study study = small_study(form, features);
      study.prune.random_orders = 2;
      study.prune.resamples = 20;
      const PruneResult result = prune(study, signed_dataset(), quiet);
      const PrunePoint& point = result.points.front();
      REQUIRE(point.heads.size() == kHeads);
      for (const HeadReport& head : point.heads) {
        CHECK(std::isfinite(head.score));
        CHECK(std::isfinite(head.mean_squared_error_without));
        CHECK(std::isfinite(head.squared_error_rise));
      }
      CHECK(point.by_score.quality.size() == kHeads);
      CHECK(result.path_norms.size() == 0);
    }
  }
}

TEST_CASE("means of S are those of its draws, with errors of independent draws") {
  constexpr Index kDraws = 500, kChains = 3, kSize = 2;
  Rng rng(4, StreamPurpose::kTests);
  std::vector<ChainRecord> chains(kChains);
  MatrixXd sum = MatrixXd::Zero(kSize, kSize);
  MatrixXd squares = MatrixXd::Zero(kSize, kSize);
  for (ChainRecord& chain : chains) {
    for (Index d = 0; d < kDraws; ++d) {
      const MatrixXd root = random_matrix(kSize, 2 * kSize, rng);
      const MatrixXd s = root * root.transpose();
      record_features(s, d, kDraws, chain);
      sum += s;
      squares += s.cwiseAbs2();
      ++chain.draws;
    }
  }
  SamplePoint point;
  point.draws = kDraws;
  summarize_features(chains, kDraws, point);
  REQUIRE(point.features);
  constexpr double kCount = kDraws * kChains;
  const MatrixXd mean = sum / kCount;
  CHECK((point.features->mean - mean).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < kRounding);
  const MatrixXd error = ((squares / kCount - mean.cwiseAbs2()) / kCount).cwiseSqrt();
  // 60 batches: an error is known to 9 %; beyond half of it once in a million.
  const MatrixXd ratio = point.features->mcse.cwiseQuotient(error);
  CHECK(ratio.minCoeff<Eigen::PropagateNaN>() > 0.5);
  CHECK(ratio.maxCoeff<Eigen::PropagateNaN>() < 1.6);
  CHECK(point.features->traces.shape == std::vector<Index>{kChains, kDraws});
  CHECK(point.features->traces.values.front() == chains[0].feature_traces.front());
  CHECK(point.rhat_max < 1.1);
}

TEST_CASE("a run that was interrupted has the mean of the draws that it made") {
  constexpr Index kPlanned = 100, kMade = 37;
  ChainRecord chain;
  double sum = 0.0;
  for (Index d = 0; d < kMade; ++d) {
    record_features(MatrixXd::Constant(1, 1, static_cast<double>(d * d)), d, kPlanned, chain);
    sum += static_cast<double>(d * d);
    ++chain.draws;
  }
  SamplePoint point;
  point.draws = kMade;
  summarize_features({chain}, kPlanned, point);
  CHECK(std::abs(point.features->mean(0, 0) - sum / kMade) < kRounding);
  CHECK(std::isnan(point.features->mcse(0, 0)));  // one whole batch of four
}
