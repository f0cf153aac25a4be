// Further evaluation sets: reported like the test set, and without an effect on anything else.
#include <cmath>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/prune.hpp"
#include "headway/sample.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using headway::PredictorReport;
using headway::SolveResult;
using headway::Study;
using tasks::Dataset;

namespace {

constexpr Index kTokens = 4, kFeatures = 3;

tasks::Split random_split(Index examples, std::uint64_t seed, Index outputs = 1) {
  Rng rng(seed, StreamPurpose::kTests, 0);
  return testing::random_split({examples, kTokens, kFeatures}, rng, outputs);
}

Dataset random_dataset(Index outputs = 1) {
  Rng rng(5, StreamPurpose::kTests, 1);
  return testing::random_dataset({2, 2}, {12, kTokens, kFeatures}, rng, outputs);
}

Study small_study() {
  Study study;
  study.model.widths = {{20}, {200}};
  study.model.temperatures = {0.1};
  study.threads = 1;
  study.sample.chains = 2;
  study.sample.draws = 50;
  study.sample.warmup = 100;
  study.sample.evidence = false;
  return study;
}

std::vector<const PredictorReport*> reports(const SolveResult& result) {
  std::vector<const PredictorReport*> all;
  for (const auto& point : result.points) {
    all.push_back(&point.predictor);
    REQUIRE(point.corrected.defined);
    all.push_back(&point.corrected.predictor);
  }
  for (const auto& point : result.gaussian_process) all.push_back(&point.predictor);
  return all;
}

/// Set `i` of `some` says what `other` says of its test set.
void check_set_is_test(const SolveResult& some, std::size_t i, const SolveResult& other) {
  const auto with_set = reports(some);
  const auto with_test = reports(other);
  REQUIRE(with_set.size() == with_test.size());
  for (std::size_t k = 0; k < with_set.size(); ++k) {
    const headway::SetReport& set = with_set[k]->sets.at(i);
    CHECK(set.accuracy == with_test[k]->accuracy);
    CHECK_THAT(set.mean_squared_error,
               Catch::Matchers::WithinRel(with_test[k]->mean_squared_error, 1e-10));
  }
}

std::string message_of(const Dataset& data) {
  try {
    Observer observer;
    headway::solve(small_study(), data, observer);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::kBadData);
    return e.what();
  }
  FAIL("nothing was thrown");
  return {};
}

}  // namespace

TEST_CASE("a further set is reported as if it were the test set") {
  Observer observer;
  for (const Index outputs : {1, 3}) {
    Dataset sets = random_dataset(outputs);
    sets.test = random_split(30, 2, outputs);
    sets.sets = {{"validation", random_split(40, 3, outputs)},
                 {"other", random_split(25, 4, outputs)}};
    const SolveResult with_sets = headway::solve(small_study(), sets, observer);
    CHECK(with_sets.set_names == std::vector<std::string>{"validation", "other"});
    CHECK(with_sets.set_examples == std::vector<Index>{40, 25});
    for (std::size_t i = 0; i < 2; ++i) {
      Dataset as_test = random_dataset(outputs);
      as_test.test = sets.sets[i].split;
      const SolveResult expected = headway::solve(small_study(), as_test, observer);
      check_set_is_test(with_sets, i, expected);
      CHECK(expected.points[0].predictor.sets.empty());
    }
    Dataset alone = random_dataset(outputs);
    alone.test = sets.test;
    const SolveResult plain = headway::solve(small_study(), alone, observer);
    for (std::size_t k = 0; k < reports(plain).size(); ++k) {
      CHECK(reports(plain)[k]->accuracy == reports(with_sets)[k]->accuracy);
      CHECK(reports(plain)[k]->mean.rows() == 30);
      CHECK(reports(with_sets)[k]->mean.rows() == 30);
      CHECK((reports(plain)[k]->mean - reports(with_sets)[k]->mean)
                .cwiseAbs()
                .maxCoeff<Eigen::PropagateNaN>() < 1e-12);
    }
  }
}

TEST_CASE("a data set may have further sets without a test set") {
  Observer observer;
  Dataset data = random_dataset();
  data.sets = {{"validation", random_split(40, 3)}};
  const SolveResult result = headway::solve(small_study(), data, observer);
  CHECK(result.test_examples == 0);
  for (const PredictorReport* report : reports(result)) {
    CHECK(std::isnan(report->accuracy));
    CHECK(report->mean.rows() == 0);
    CHECK(report->sets.at(0).accuracy > 0.2);
  }
  const headway::PruneResult pruned = headway::prune(small_study(), data, observer);
  CHECK(std::isnan(pruned.points.at(0).accuracy));
}

TEST_CASE("pruning looks at the test set alone") {
  Observer observer;
  Dataset data = random_dataset();
  data.test = random_split(30, 2);
  const headway::PruneResult plain = headway::prune(small_study(), data, observer);
  data.sets = {{"other", random_split(25, 4)}};
  const headway::PruneResult with_sets = headway::prune(small_study(), data, observer);
  for (std::size_t h = 0; h < 4; ++h) {
    CHECK(plain.points[0].heads[h].accuracy_without ==
          with_sets.points[0].heads[h].accuracy_without);
  }
}

TEST_CASE("samples are judged on the further sets by their mean predictor") {
  Observer observer;
  Dataset data = random_dataset();
  data.test = random_split(30, 2);
  const headway::SampleResult plain = headway::sample(small_study(), data, observer);
  data.sets = {{"same", random_split(30, 2)}, {"other", random_split(25, 4)}};
  const headway::SampleResult result = headway::sample(small_study(), data, observer);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const PredictorReport& report = result.points[i].predictor;
    CHECK(report.accuracy == plain.points[i].predictor.accuracy);
    CHECK(result.points[i].accuracy_mean == plain.points[i].accuracy_mean);
    REQUIRE(report.sets.size() == 2);
    CHECK(report.sets[0].accuracy == report.accuracy);
    CHECK_THAT(report.sets[0].mean_squared_error,
               Catch::Matchers::WithinRel(report.mean_squared_error, 1e-10));
    CHECK(report.sets[1].mean_squared_error != report.sets[0].mean_squared_error);
    CHECK(report.mean.rows() == 30);
    CHECK(result.points[i].predictor_mcse.rows() == 30);
  }
}

TEST_CASE("sets made in memory are checked") {
  Dataset data = random_dataset();
  data.sets = {{"a", random_split(3, 2)}, {"a", random_split(3, 2)}};
  CHECK_THAT(message_of(data),
             Catch::Matchers::ContainsSubstring("random: sets/a: is given twice"));
  data.sets = {{"a", random_split(3, 2, 2)}};
  CHECK_THAT(message_of(data), Catch::Matchers::ContainsSubstring("of 2 outputs; allowed: 1"));
  data.sets = {{"a", {}}};
  CHECK_THAT(message_of(data), Catch::Matchers::ContainsSubstring("is empty"));
  data.sets = {{"test", random_split(3, 2)}};
  CHECK_THAT(message_of(data), Catch::Matchers::ContainsSubstring("sets/test: is taken"));
}
