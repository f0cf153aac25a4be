#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/align.hpp"
#include "headway/core/option_error.hpp"
#include "headway/error.hpp"
#include "headway/gram.hpp"
#include "headway/sample.hpp"
#include "headway/solve.hpp"
#include "headway/theory/gram.hpp"
#include "headway/verbs/theory/plan.hpp"
#include "thread_ranks.hpp"

using namespace headway;
using Catch::Matchers::ContainsSubstring;
using headway::Study;

namespace {

constexpr Index kPaths = 4;
constexpr Index kN0 = 3;

tasks::Split random_split(Index examples, std::uint64_t stream, Index outputs) {
  Rng rng(11, StreamPurpose::kTests, stream);
  tasks::Split split;
  split.path_features.resize(examples, kPaths * kN0);
  for (double& x : split.path_features.reshaped()) x = rng.normal();
  split.labels.resize(examples, outputs);
  for (double& y : split.labels.reshaped()) y = rng.normal() < 0.0 ? -1.0 : 1.0;
  return split;
}

tasks::Dataset data_with_sets(Index examples, std::uint64_t stream = 0, Index outputs = 1) {
  tasks::Dataset data;
  data.name = fmt::format("data {}", stream);
  data.form = AttentionForm::kPathFeatures;
  data.heads = {2, 2};
  data.layers.resize(2);
  data.features = kN0;
  data.train = random_split(examples, 10 * stream, outputs);
  data.test = random_split(5, 10 * stream + 1, outputs);
  data.sets.push_back({"validation", random_split(4, 10 * stream + 2, outputs)});
  return data;
}

Study small_study() {
  Study study;
  study.task.set_kind(headway::TaskKind::kDataset);
  study.model.widths = {{20}, {100}};
  study.model.temperatures = {0.1};
  study.threads = 1;
  return study;
}

double difference(const MatrixXd& a, const MatrixXd& b) {
  REQUIRE(a.rows() == b.rows());
  REQUIRE(a.cols() == b.cols());
  return (a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() / b.cwiseAbs().maxCoeff();
}

std::string refusal(const Study& study, const std::vector<tasks::Dataset>& data) {
  Observer observer;
  try {
    headway::gram(study, data, observer);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::kBadData);
    return e.what();
  }
  return "(accepted)";
}

/// The message, and the keys of a study that it is about.
using Misfit = std::pair<std::string, std::vector<std::string>>;

template <class Work>
Misfit misfit(const Work& work) {
  try {
    work();
  } catch (const headway::OptionError& error) {
    return {error.what(), error.fields()};
  }
  return {"(accepted)", {}};
}

}  // namespace

TEST_CASE("Gram matrices are sums over examples, the same on any number of threads and files") {
  Observer observer;
  Study study = small_study();
  for (const Index examples : {1, 30, 5000}) {  // one leaf, one, five
    const tasks::Dataset whole = data_with_sets(examples, 0, 2);
    const headway::GramResult one = headway::gram(study, {whole}, observer);
    const GramMatrices expected =
        theory::gram_matrices(whole.train.path_features, whole.train.labels);
    CHECK(one.data.examples == examples);
    CHECK(difference(one.data.gram, expected.gram) < 1e-13);
    CHECK(difference(one.data.projection, expected.projection) < 1e-12);
    CHECK(difference(one.data.label_square, expected.label_square) < 1e-13);
    study.threads = 3;
    const headway::GramResult three = headway::gram(study, {whole}, observer);
    CHECK(three.data.gram == one.data.gram);
    CHECK(three.data.projection == one.data.projection);
    study.threads = 1;
    if (examples == 1) continue;
    tasks::Dataset first = whole;
    tasks::Dataset second = whole;
    first.train.path_features = whole.train.path_features.topRows(11);
    first.train.labels = whole.train.labels.topRows(11);
    second.train.path_features = whole.train.path_features.bottomRows(examples - 11);
    second.train.labels = whole.train.labels.bottomRows(examples - 11);
    const headway::GramResult parts = headway::gram(study, {first, second}, observer);
    CHECK(parts.data.examples == examples);
    CHECK(difference(parts.data.gram, expected.gram) < 1e-13);
    REQUIRE(parts.sets.size() == 2);
    CHECK(parts.sets[0].labels.rows() == 10);  // both test sets
    CHECK(parts.sets[1].name == "validation");
    CHECK(parts.sources == std::vector<std::string>{"data 0", "data 0"});
  }
}

TEST_CASE("Gram matrices of parts and of ranks have the bits of the whole") {
  Observer observer;
  const Study study = small_study();
  const std::vector<tasks::Dataset> data = {data_with_sets(3000, 0, 2), data_with_sets(2500, 1, 2)};
  const headway::GramResult whole = headway::gram(study, data, observer);
  const auto check = [&](const headway::GramResult& found) {
    CHECK(found.data.examples == 5500);
    CHECK(found.data.gram == whole.data.gram);
    CHECK(found.data.projection == whole.data.projection);
    CHECK(found.data.label_square == whole.data.label_square);
    CHECK(found.sets.at(1).path_features == whole.sets.at(1).path_features);
    CHECK(found.sources == whole.sources);
    CHECK_FALSE(found.is_part());
  };
  for (const std::size_t count : {1, 2, 3, 7}) {  // of six leaves
    std::vector<headway::GramResult> parts;
    for (std::size_t i = 0; i < count; ++i) {
      parts.push_back(headway::gram(study, data, observer, {i, count}));
      CHECK(parts.back().sets.size() == (i == 0 ? 2 : 0));
    }
    check(headway::merge_grams(parts));
    testing::on_ranks(static_cast<int>(count), [&](Ranks& ranks) {
      Observer silent;
      const auto found = headway::gram_on_ranks(study, data, silent, ranks);
      if (found.has_value() != ranks.is_first()) throw Error(ErrorKind::kInternal, "not there");
      if (found) check(*found);
    });
    if (count == 1) continue;
    std::swap(parts.front().nodes, parts.back().nodes);
    CHECK_THROWS_WITH(headway::merge_grams(parts),
                      ContainsSubstring("part 0/") && ContainsSubstring("of 6"));
  }
}

TEST_CASE("the share of the examples is told wave by wave, and a stop leaves nothing") {
  class Share final : public Observer {
   public:
    explicit Share(double most) : most_(most) {}
    void progress(std::string_view stage, double done, double total) override {
      CHECK(stage == "examples");
      CHECK(total == all);
      told.push_back(done);
    }
    [[nodiscard]] bool interrupted() const override {
      return !told.empty() && told.back() >= most_;
    }
    std::vector<double> told;
    double all = 5000.0;

   private:
    double most_;
  };
  Study study = small_study();
  const std::vector<tasks::Dataset> data = {data_with_sets(5000)};
  Share one(1e9);
  CHECK(headway::gram(study, data, one).threads == 1);
  CHECK(one.told == std::vector<double>{1000, 2000, 3000, 4000, 5000});  // of five leaves
  study.threads = 2;
  Share two(1e9);
  CHECK(headway::gram(study, data, two).threads == 2);
  CHECK(two.told == std::vector<double>{2000, 4000, 5000});
  Share part(1e9);
  part.all = 3000.0;
  headway::gram(study, data, part, {1, 2});
  CHECK(part.told == std::vector<double>{2000, 3000});
  Share stopped(2000.0);
  try {
    headway::gram(study, data, stopped);
    FAIL("it went on");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInterrupted);
    CHECK(std::string(error.what()) == "gram: stopped by the user; nothing is written");
  }
}

TEST_CASE("Gram matrices of fewer examples than directions are solved as that many rows") {
  Observer observer;
  for (const bool same : {false, true}) {  // or with examples that are there twice: of lower rank
    for (const Index outputs : {1, 2}) {
      tasks::Dataset data = data_with_sets(8, 1, outputs);
      if (same) data.train.path_features.bottomRows(3) = data.train.path_features.topRows(3);
      Study study = small_study();
      const tasks::Dataset gram =
          headway::dataset_of(headway::gram(study, {data}, observer), "gram.h5");
      study.solve.kernels = theory::KernelForm::kStreamed;
      const headway::SolveResult expected = headway::solve(study, data, observer);
      study.solve.kernels = theory::KernelForm::kAuto;
      const headway::TheoryPlan plan =
          headway::plan_theory(study, gram, headway::TheoryVerb::kSolves);
      CHECK(plan.kernels.form != theory::KernelForm::kGram);
      const headway::SolveResult result = headway::solve(study, gram, observer);
      REQUIRE(result.points.size() == expected.points.size());
      CHECK(result.train_examples == 8);
      CHECK(result.path_kernels.empty());
      for (std::size_t i = 0; i < result.points.size(); ++i) {
        const headway::SolvePoint& a = result.points[i];
        const headway::SolvePoint& b = expected.points[i];
        CHECK(a.kernels == word_of(plan.kernels.form));
        CHECK(difference(a.order_parameters.layers[0], b.order_parameters.layers[0]) < 1e-7);
        CHECK(difference(a.predictor.mean, b.predictor.mean) < 1e-7);
        CHECK(difference(a.predictor.variance, b.predictor.variance) < 1e-7);
        CHECK_THAT(a.action, Catch::Matchers::WithinRel(b.action, 1e-8));
        CHECK_THAT(a.evidence.log_evidence,
                   Catch::Matchers::WithinRel(b.evidence.log_evidence, 1e-8));
        CHECK(std::isnan(a.predictor.train_accuracy));
      }
      study.solve.kernels = theory::KernelForm::kGram;  // by hand: the matrices themselves
      CHECK(headway::solve(study, gram, observer).points[0].kernels == "gram");
    }
  }
}

TEST_CASE("solve and sample of Gram matrices are those of the examples") {
  Observer observer;
  for (const Index outputs : {1, 2}) {
    const tasks::Dataset data = data_with_sets(40, 1, outputs);
    Study study = small_study();
    study.solve.kernels = theory::KernelForm::kStreamed;
    const headway::SolveResult expected = headway::solve(study, data, observer);
    study.solve.kernels = theory::KernelForm::kAuto;
    const tasks::Dataset gram =
        headway::dataset_of(headway::gram(study, {data}, observer), "gram.h5");
    CHECK(gram.train_examples() == 40);
    CHECK(gram.outputs() == outputs);
    CHECK(headway::plan_theory(study, gram, headway::TheoryVerb::kSolves).kernels.form ==
          theory::KernelForm::kGram);
    const headway::SolveResult result = headway::solve(study, gram, observer);
    REQUIRE(result.points.size() == 2);
    CHECK(result.train_examples == 40);
    for (std::size_t i = 0; i < 2; ++i) {
      const headway::SolvePoint& a = result.points[i];
      const headway::SolvePoint& b = expected.points[i];
      CHECK(a.kernels == "gram");
      CHECK(a.summary.converged);
      CHECK(difference(a.order_parameters.layers[0], b.order_parameters.layers[0]) < 1e-9);
      CHECK(difference(a.predictor.mean, b.predictor.mean) < 1e-9);
      CHECK(difference(a.predictor.variance, b.predictor.variance) < 1e-9);
      CHECK_THAT(a.action, Catch::Matchers::WithinRel(b.action, 1e-9));
      CHECK_THAT(a.evidence.log_evidence,
                 Catch::Matchers::WithinRel(b.evidence.log_evidence, 1e-9));
      CHECK_THAT(a.smallest_hessian_eigenvalue,
                 Catch::Matchers::WithinRel(b.smallest_hessian_eigenvalue, 1e-9));
      CHECK(difference(a.corrected.mean.layers[0], b.corrected.mean.layers[0]) < 1e-9);
      CHECK(std::isnan(a.predictor.train_accuracy));
      CHECK(a.predictor.sets.at(0).name == "validation");
    }
    CHECK_THAT(result.gaussian_process[0].log_evidence,
               Catch::Matchers::WithinRel(expected.gaussian_process[0].log_evidence, 1e-9));
  }
  const tasks::Dataset data = data_with_sets(40, 1);
  Study study = small_study();
  study.model.widths = {{2}};  // below the number of paths: singular U
  study.sample.draws = 20;
  study.sample.warmup = 30;
  study.sample.chains = 1;
  const tasks::Dataset gram = headway::dataset_of(headway::gram(study, {data}, observer), "g");
  const headway::SampleResult sampled = headway::sample(study, gram, observer);
  CHECK(sampled.points.at(0).draws == 20);
}

TEST_CASE("what Gram matrices cannot do is refused by name") {
  Observer observer;
  Study study = small_study();
  const tasks::Dataset gram =
      headway::dataset_of(headway::gram(study, {data_with_sets(20)}, observer), "g.h5");
  Study cold = study;
  cold.model.temperatures = {0.0};
  CHECK(misfit([&] { headway::solve(cold, gram, observer); }) ==
        Misfit{"model.temperature = 0: g.h5 holds Gram matrices, which need a temperature > 0",
               {"model.temperature"}});
  Study stored = study;
  stored.solve.kernels = theory::KernelForm::kStored;
  CHECK(misfit([&] { headway::solve(stored, gram, observer); }) ==
        Misfit{"solve.kernels = \"stored\": g.h5 holds Gram matrices; allowed: \"auto\" or "
               "\"gram\"",
               {"solve.kernels"}});
  CHECK_THROWS_WITH(headway::align(study, gram, observer), ContainsSubstring("Gram matrices"));
  Study weights = study;
  weights.sample.sampler = headway::Sampler::kGibbs;
  CHECK(misfit([&] { headway::sample(weights, gram, observer); }) ==
        Misfit{"sample.sampler = \"gibbs\": draws weights, which needs examples, and g.h5 holds "
               "Gram matrices; allowed: \"auto\" or \"exact\"",
               {"sample.sampler"}});
  CHECK_THAT(refusal(study, {gram}), ContainsSubstring("holds Gram matrices already"));
}

TEST_CASE("data sets that disagree, and features that say nothing, are named") {
  const Study study = small_study();
  const tasks::Dataset good = data_with_sets(20, 1);
  tasks::Dataset other = data_with_sets(20, 2);
  other.heads = {4};
  other.layers.resize(1);
  CHECK_THAT(refusal(study, {good, other}),
             ContainsSubstring("data 2: has heads [4]; allowed: [2, 2] as in data 1"));
  other = data_with_sets(20, 2, 3);
  CHECK_THAT(refusal(study, {good, other}), ContainsSubstring("data 2: has outputs C = 3"));
  other = data_with_sets(20, 2);
  other.test.reset();
  CHECK_THAT(refusal(study, {good, other}), ContainsSubstring("data 2: has sets [validation]"));
  other = data_with_sets(20, 2);
  other.readout = Readout::kMean;
  CHECK_THAT(refusal(study, {good, other}), ContainsSubstring("data 2: has readout mean"));
  other = data_with_sets(20, 2);
  other.train.path_features(7, 3) = std::nan("");
  CHECK_THAT(refusal(study, {good, other}), ContainsSubstring("data 2: path features of train[7]"));
  tasks::Dataset empty_path = good;
  empty_path.train.path_features.middleCols(kN0, kN0).setZero();
  CHECK_THAT(refusal(study, {empty_path}),
             ContainsSubstring("data 1") && ContainsSubstring("path 2 of 4"));
}
