// What `solve` computes by itself, and what it leaves out as too costly.
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

/// 36 paths, and so 666 directions of U_1 along which each test example's variance curves.
tasks::Dataset many_paths(Index test_examples) {
  constexpr Index kExamples = 40, kPaths = 36, kN0 = 12;
  Rng rng(8, StreamPurpose::kTests);
  tasks::Dataset data;
  data.name = "many paths";
  data.form = AttentionForm::kPathFeatures;
  data.heads = {6, 6};
  data.layers.resize(2);
  data.features = kN0;
  data.train.path_features = random_matrix(kExamples, kPaths * kN0, rng);
  data.train.labels = random_matrix(kExamples, 1, rng).cwiseSign();
  data.test.emplace().path_features = random_matrix(test_examples, kPaths * kN0, rng);
  data.test->labels = random_matrix(test_examples, 1, rng).cwiseSign();
  data.content_hash = "none";
  return data;
}

SolvePoint solved(Index test_examples, When corrections) {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  study.model.widths = {{60}};
  study.model.temperatures = {0.2};
  study.solve.corrections = corrections;
  study.threads = 1;
  Observer observer;
  return solve(study, many_paths(test_examples), observer).points.at(0);
}

}  // namespace

TEST_CASE("corrections of the variances of many test examples are too costly for \"auto\"") {
  const SolvePoint few = solved(20, When::kAuto);
  REQUIRE(few.summary.converged);
  CHECK(few.corrected.defined);
  const SolvePoint many = solved(3000, When::kAuto);
  CHECK_FALSE(many.corrected.defined);
  CHECK(many.corrected.reason ==
        "skipped: too costly for \"auto\" at this size (solve.corrections = \"on\" computes it)");
  CHECK(solved(20, When::kOff).corrected.reason == "skipped: solve.corrections = \"off\"");
}
