#include <cmath>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/train.hpp"
#include "trained_run_builder.hpp"

using namespace headway;
using headway::TrainedRun;
using headway::TrainGroup;
using headway::TrainResult;
using testing::built_run;

namespace {

TrainedRun finished(const std::string& label, std::uint64_t seed, double r2, double loss) {
  TrainedRun run = built_run();
  run.label = label;
  run.seed = seed;
  run.summary.outcome = training::TrainOutcome::kFinished;
  run.records.back().loss = loss;
  run.summary.evaluations = {{"held_out", {64, 0.75, {{"r2", r2}}}}};
  return run;
}

}  // namespace

TEST_CASE("groups have mean and standard error over seeds") {
  TrainResult result;
  result.runs = {finished("hyla", 1, 0.5, 0.1), finished("softmax", 1, 0.25, 0.3),
                 finished("hyla", 2, 0.7, 0.2), finished("hyla", 3, 0.9, 0.6)};
  const std::vector<TrainGroup> groups = headway::group_runs(result);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].label == "hyla");
  CHECK(groups[0].runs == std::vector<std::size_t>{0, 2, 3});
  CHECK(groups[0].seeds == std::vector<std::uint64_t>{1, 2, 3});
  REQUIRE(groups[0].splits.size() == 1);
  const headway::SplitSpread& split = groups[0].splits[0];
  CHECK(split.metric == "r2");
  CHECK(split.last.count == 3);
  CHECK(std::abs(split.last.mean - 0.7) < 1e-12);
  // Sample variance ((0.2)^2 + 0 + (0.2)^2) / 2 = 0.04, over three runs.
  CHECK(std::abs(split.last.standard_error - std::sqrt(0.04 / 3.0)) < 1e-12);
  CHECK(split.best.mean == 0.25);  // of the record at the best step, 5
  CHECK(std::abs(groups[0].train_loss.mean - 0.3) < 1e-12);
  CHECK(groups[1].splits[0].last.mean == 0.25);
  CHECK(std::isnan(groups[1].splits[0].last.standard_error));
}

TEST_CASE("runs that were interrupted or diverged are in no mean") {
  TrainResult result;
  result.runs = {finished("hyla", 1, 0.5, 0.1), finished("hyla", 2, 0.7, 0.2),
                 finished("hyla", 3, -1e19, 1e9)};
  result.runs[1].summary.outcome = training::TrainOutcome::kInterrupted;
  result.runs[2].summary.outcome = training::TrainOutcome::kDiverged;
  const TrainGroup group = headway::group_runs(result).at(0);
  CHECK(group.diverged == 1);
  CHECK(group.splits[0].last.count == 1);
  CHECK(group.splits[0].last.mean == 0.5);
  CHECK(group.train_loss.mean == 0.1);
}

TEST_CASE("the training loss is the mean of the last record") {
  TrainedRun run = built_run();
  CHECK(headway::final_train_loss(run) == 0.65);
  run.records.clear();
  CHECK(headway::final_train_loss(run) == 0.625);
  run.summary.steps = 0;
  CHECK(std::isnan(headway::final_train_loss(run)));
}

TEST_CASE("labels say what a sweep sets, without seeds") {
  headway::Study study;
  study.train.model.attention = "hyla";
  CHECK(headway::run_label({}, study) == "hyla");
  CHECK(headway::run_label({{"task.seed", "4"}}, study) == "hyla");
  CHECK(headway::run_label({{"train.attention", "\"linear\""}, {"seed", "3"}}, study) == "linear");
  CHECK(headway::run_label({{"train.attention", "\"linear\""}, {"task.held_out", "0.3"}}, study) ==
        "linear, held_out = 0.3");
  CHECK(headway::run_label({{"train", "{attention = \"linear\", layers = 4}"}}, study) ==
        "linear, layers = 4");
  study.train.model.feed_forward = training::FeedForward::kMixture;
  study.train.model.nonlinearity = "gelu";
  CHECK(headway::run_variant(study) == "hyla gelu + mixture");
}

TEST_CASE("crossed seeds of task and network are no independent runs: each task has a row") {
  headway::Study study;
  study.train.model.attention = "hyla";
  TrainResult result;
  for (const std::string task : {"1", "2"}) {
    for (const std::string seed : {"5", "6"}) {
      const std::vector<Setting> settings = {
          {"train.attention", "\"hyla\""}, {"seed", seed}, {"task.seed", task}};
      result.runs.push_back(finished(headway::run_label(settings, study), std::stoull(seed),
                                     task == "1" ? 0.5 : 0.75, 0.1));
    }
  }
  const std::vector<TrainGroup> groups = headway::group_runs(result);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].label == "hyla, task.seed = 1");
  CHECK(groups[1].label == "hyla, task.seed = 2");
  CHECK(groups[1].splits[0].last.mean == 0.75);
  CHECK(groups[1].splits[0].last.count == 2);
  CHECK(headway::run_label({{"task.seed", "4"}, {"seed", "3"}}, study) == "task.seed = 4");
}

TEST_CASE("the main metric of a split is chosen by name") {
  CHECK(headway::main_metric({1, 0.0, {{"r2_pooled", 0.0}, {"r2", 0.0}}}) == "r2");
  CHECK(headway::main_metric({1, 0.0, {{"accuracy", 0.0}, {"bits_per_byte", 0.0}}}) ==
        "bits_per_byte");
  CHECK(headway::main_metric({1, 0.0, {{"other", 0.0}}}) == "other");
  CHECK(headway::main_metric({}).empty());
}

TEST_CASE("a run that diverged, or whose losses are not finite, is unusable") {
  TrainedRun run = finished("hyla", 1, 0.5, 0.1);
  CHECK(headway::training_fault(run).empty());
  run.summary.evaluations[0].second.loss = std::nan("");
  CHECK(headway::training_fault(run).find("held_out") != std::string::npos);
  run.summary.outcome = training::TrainOutcome::kDiverged;
  run.summary.message = "step 3: the loss is nan";
  CHECK(headway::training_fault(run) == "step 3: the loss is nan");
}

TEST_CASE("outcomes have names") {
  using training::TrainOutcome;
  for (const TrainOutcome outcome : {TrainOutcome::kNotRun, TrainOutcome::kFinished,
                                     TrainOutcome::kInterrupted, TrainOutcome::kDiverged}) {
    auto again = training::TrainOutcome::kNotRun;
    CHECK(read_word(word_of(outcome), again));
    CHECK(again == outcome);
  }
  auto unknown = training::TrainOutcome::kNotRun;
  CHECK_FALSE(read_word("done", unknown));
}

TEST_CASE("the best value is that of the record at the best step, undefined without one") {
  TrainResult result;
  result.runs = {finished("hyla", 1, 0.5, 0.1)};
  result.runs[0].summary.evaluations = {{"held_out", {64, 0.75, {{"r2", 0.5}}}},
                                        {"unknown_terms", {64, 0.85, {{"r2", 0.375}}}},
                                        {"later", {64, 0.95, {{"r2", 0.125}}}}};
  const auto best = [&](std::size_t split) {
    return headway::group_runs(result).at(0).splits.at(split).best.mean;
  };
  CHECK(best(0) == 0.25);
  CHECK(best(1) == -0.5);
  CHECK(std::isnan(best(2)));  // has no record
  result.runs[0].summary.best_step = 9;
  CHECK(std::isnan(best(0)));
}

TEST_CASE("a spread is over the values that are finite") {
  const headway::Spread spread = headway::spread_of({1.0, std::nan(""), 3.0, HUGE_VAL});
  CHECK(spread.count == 2);
  CHECK(spread.mean == 2.0);
  CHECK(std::abs(spread.standard_error - 1.0) < 1e-12);
  CHECK(headway::spread_of({}).count == 0);
  CHECK(std::isnan(headway::spread_of({}).mean));
}

TEST_CASE("the curves of a run give its records back in their order") {
  const std::vector<training::TrainRecord> records = built_run().records;
  const auto curves = training::curves_of(records);
  REQUIRE(curves.size() == 3);
  CHECK(curves.at("train").size() == 2);
  const std::vector<training::TrainRecord> again = training::records_of(curves);
  REQUIRE(again.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(again[i].split == records[i].split);
    CHECK(again[i].step == records[i].step);
    CHECK(again[i].loss == records[i].loss);
  }
}

TEST_CASE("a network's variant tells what it is made of") {
  headway::Study study;
  study.train.model.attention = "softmax";
  study.train.model.encoder_layers = 2;
  CHECK(headway::run_variant(study) == "softmax + encoder");
  study.train.model.network = training::NetworkKind::kLinearValue;
  CHECK(headway::run_variant(study) == "linear_value");
}
