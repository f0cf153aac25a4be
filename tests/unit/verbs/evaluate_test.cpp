#include "headway/evaluate.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "small_studies.hpp"

using namespace headway;
using headway::Study;

namespace {

Study small_study(std::uint64_t seed) {
  Study study = testing::small_study();
  study.seed = seed;
  study.task.as<tasks::FuzzyLogicOptions>().sequence_length = 8;
  study.train.model.attention = "softmax";
  study.train.model.layers = 1;
  study.train.run.eval_examples = 40;
  return study;
}

class Heard final : public Observer {
 public:
  void whole(std::string_view stage, double done, double total, double /*earlier*/) override {
    if (stage == "evaluate") told.emplace_back(done, total);
  }
  void warning(std::string_view text) override { warnings.emplace_back(text); }
  std::vector<std::pair<double, double>> told;
  std::vector<std::string> warnings;
};

}  // namespace

TEST_CASE("the last weights on their own task give the numbers of the end of training", "[torch]") {
  const std::vector<headway::TrainRun> runs = {{{{"seed", "1"}}, small_study(1)},
                                               {{{"seed", "2"}}, small_study(2)}};
  Observer observer;
  const auto trained = headway::train(runs, &headway::make_generated_task, observer);
  const auto networks = headway::trained_networks(runs, trained, headway::KeptWeights::kLast);
  REQUIRE(networks.size() == 2);
  const auto result = headway::evaluate(networks, {}, &headway::make_generated_task, observer);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(result.runs[i].step == 20);
    CHECK(result.runs[i].held_out_seen == 0.0);
    for (const auto& [split, wanted] : trained.runs[i].summary.evaluations) {
      for (const auto& [name, found] : result.runs[i].evaluations) {
        if (name != split) continue;
        CHECK(found.loss == wanted.loss);
        CHECK(found.metrics == wanted.metrics);
        CHECK(found.examples == 40);
      }
    }
  }
  // train, validation, held_out, unknown_terms; loss, r2, r2_pooled of each
  const auto groups = headway::group_evaluations(result);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].metrics.size() == 12);
  CHECK(groups[0].metrics[0].value.count == 2);
  CHECK(groups[0].metrics[0].split == "train");
  CHECK(groups[0].metrics[0].metric == "loss");

  CHECK(result.threads == 1);
  CHECK(result.planned == 2);
  Heard heard;
  headway::TaskChange elsewhere;
  elsewhere.keys.data = OptionValue::Table{{"seed", {std::int64_t{6}, {}}}};
  const auto moved = headway::evaluate(networks, elsewhere, &headway::make_generated_task, heard);
  REQUIRE(heard.warnings.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double seen = moved.runs[i].held_out_seen;
    CHECK(seen > 0.0);
    CHECK(heard.warnings[i] ==
          fmt::format("{}, seed {}: the network was trained on {:.0f} % of these held-out tasks, "
                      "because another seed or share splits them differently",
                      networks[i].label, i + 1, 100.0 * seen));
  }
  CHECK(heard.told == std::vector<std::pair<double, double>>{{1.0, 2.0}, {2.0, 2.0}});

  headway::TaskChange change;
  change.keys.data = OptionValue::Table{{"sequence_length", {std::int64_t{20}, {}}}};
  const auto longer = headway::evaluate(networks, change, &headway::make_generated_task, observer);
  CHECK(longer.task.find("sequence_length = 20") != std::string::npos);
  CHECK(longer.runs[0].evaluations[2].second.loss != result.runs[0].evaluations[2].second.loss);
}

TEST_CASE("weights have the step at which they were kept") {
  const std::vector<headway::TrainRun> runs = {{{{"seed", "1"}}, small_study(1)}};
  headway::TrainResult trained;
  headway::TrainedRun& run = trained.runs.emplace_back();
  run.settings = runs[0].settings;
  run.summary.outcome = training::TrainOutcome::kFinished;
  run.summary.best_step = 7;
  run.summary.steps = 20;
  run.state.best_parameters = {{"best", {1}, {1.0F}}};
  run.state.parameters = {{"last", {1}, {2.0F}}};
  const auto best = headway::trained_networks(runs, trained, headway::KeptWeights::kBest).at(0);
  CHECK(best.step == 7);
  CHECK(best.parameters.at(0).name == "best");
  const auto last = headway::trained_networks(runs, trained, headway::KeptWeights::kLast).at(0);
  CHECK(last.step == 20);
  CHECK(last.parameters.at(0).name == "last");
}

TEST_CASE("keys that differ between the tasks of networks are a comment with every value once") {
  CHECK(task_of_all({"a = 1\nb = 2\n"}) == "a = 1\nb = 2\n");
  CHECK(task_of_all({"a = 1\nb = 2", "a = 1\nb = 3", "a = 1\nb = 2"}) ==
        "a = 1\n# b: 2, 3, of each network its own\n");
  CHECK(task_of_all({"a = 1\nb = 2", "a = 1"}) ==
        "a = 1\n# b: 2, absent, of each network its own\n");
}
