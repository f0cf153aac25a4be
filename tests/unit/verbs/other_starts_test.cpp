// What the extra starts of `solve` find, and what is taken.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

class Warnings final : public Observer {
 public:
  void warning(std::string_view text) override { all.emplace_back(text); }
  std::vector<std::string> all;
};

/// Real labels, `size` times those that the paths' features tell at weights of order 1: large ones
/// at a temperature that is large, too, leave a minimum near infinite width beside the one that
/// fits them.
tasks::Dataset told_dataset(double size) {
  constexpr Index kExamples = 60, kPaths = 4, kN0 = 10;
  Rng rng(5, StreamPurpose::kTests);
  tasks::Dataset data;
  data.name = "told";
  data.form = AttentionForm::kPathFeatures;
  data.heads = {2, 2};
  data.layers.resize(2);
  data.features = kN0;
  data.train.path_features = random_matrix(kExamples, kPaths * kN0, rng);
  MatrixXd weights = random_matrix(kPaths * kN0, 1, rng);
  const double strength[kPaths] = {3.0, 1.0, 0.3, 0.1};
  for (Index a = 0; a < kPaths; ++a) weights.middleRows(a * kN0, kN0) *= strength[a];
  data.train.labels = size * data.train.path_features * weights;
  data.content_hash = "none";
  return data;
}

headway::Study study_of(double temperature) {
  headway::Study study;
  study.task.set_kind(headway::TaskKind::kDataset);
  study.model.widths = {{20}};
  study.model.temperatures = {temperature};
  study.solve.corrections = headway::When::kOff;
  study.threads = 1;
  return study;
}

}  // namespace

TEST_CASE("of several minima that extra starts find the lowest is taken, and said so") {
  const double size = 800.0;
  const tasks::Dataset data = told_dataset(size);
  headway::Study study = study_of(0.1 * size * size);
  Warnings quiet, warned;
  const headway::SolvePoint usual = headway::solve(study, data, quiet).points.at(0);
  study.solve.extra_starts = 8;
  const headway::SolvePoint lowest = headway::solve(study, data, warned).points.at(0);
  REQUIRE(usual.summary.converged);
  REQUIRE(lowest.summary.converged);
  CHECK(lowest.action < 0.9 * usual.action);
  CHECK(lowest.start_spread > 1.0);
  CHECK(lowest.smallest_hessian_eigenvalue > 0.0);
  const auto told = [](const std::string& text) {
    return text.find("the action has several minima") != std::string::npos;
  };
  REQUIRE(std::count_if(warned.all.begin(), warned.all.end(), told) == 1);
  CHECK(std::find_if(warned.all.begin(), warned.all.end(), told)
            ->starts_with(fmt::format(
                "widths 20,20,20, temperature 64000: the action has several minima. The lowest is "
                "taken: S / max N = {:.6g}; the usual start leads to {:.6g}, the highest has ",
                lowest.action, usual.action)));
  CHECK(std::count_if(quiet.all.begin(), quiet.all.end(), told) == 0);
}

TEST_CASE("the spread of the starts is the largest, so more starts never make it less") {
  const double size = 800.0;
  const tasks::Dataset data = told_dataset(size);
  headway::Study study = study_of(0.1 * size * size);
  Observer quiet;
  double largest = 0.0;
  for (int starts = 1; starts <= 8; ++starts) {  // the first ones are the same
    study.solve.extra_starts = starts;
    const double spread = headway::solve(study, data, quiet).points.at(0).start_spread;
    CHECK(spread >= largest);
    largest = spread;
  }
  CHECK(largest > 1.0);
}

TEST_CASE("where every start ends in one minimum nothing changes") {
  const tasks::Dataset data = told_dataset(1.0);
  headway::Study study = study_of(0.1);
  Warnings warned;
  const headway::SolvePoint usual = headway::solve(study, data, warned).points.at(0);
  study.solve.extra_starts = 4;
  const headway::SolvePoint same = headway::solve(study, data, warned).points.at(0);
  CHECK(same.action == usual.action);
  CHECK(same.start_spread < 1e-6);
  for (const std::string& text : warned.all) CHECK(text.find("minima") == std::string::npos);
}

TEST_CASE("extra starts are tried, and taken, where the usual one does not converge") {
  const tasks::Dataset data = told_dataset(1.0);
  headway::Study study = study_of(0.1);
  Warnings warned;
  const double minimum = headway::solve(study, data, warned).points.at(0).action;
  study.solve.saddle_point.max_iterations = 9;  // the usual one takes 13, one of the others 7
  const headway::SolvePoint usual = headway::solve(study, data, warned).points.at(0);
  REQUIRE_FALSE(usual.summary.converged);
  study.solve.extra_starts = 8;
  const headway::SolvePoint other = headway::solve(study, data, warned).points.at(0);
  CHECK(other.summary.converged);
  CHECK_THAT(other.action, Catch::Matchers::WithinRel(minimum, 1e-8));
  for (const std::string& text : warned.all) CHECK(text.find("minima") == std::string::npos);
}
