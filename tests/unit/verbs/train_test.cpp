#include "headway/train.hpp"

#include <array>
#include <atomic>
#include <optional>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/training/backend.hpp"
#include "small_studies.hpp"
#include "thread_ranks.hpp"

using namespace headway;
using headway::Study;
using headway::TrainedRun;
using headway::TrainHooks;
using headway::TrainResult;
using headway::TrainRun;

namespace {

Study short_study() {
  Study study = testing::small_study();
  study.task.as<tasks::FuzzyLogicOptions>().sequence_length = 5;
  study.task.as<tasks::FuzzyLogicOptions>().held_out = tasks::FuzzyLogicOptions().held_out;
  study.train.model.layers = 1;
  study.train.run.steps = 30;
  study.train.run.log_every = 4;
  study.train.run.eval_examples = 8;
  study.train.run.checkpoint_every = 7;
  return study;
}

std::vector<TrainRun> two_runs() {
  std::vector<TrainRun> runs(2);
  for (std::size_t i = 0; i < 2; ++i) {
    runs[i].study = short_study();
    runs[i].study.seed = i;
    runs[i].settings = {{"seed", std::to_string(i)}};
  }
  return runs;
}

std::vector<std::pair<Index, std::string>> places(const TrainedRun& run) {
  std::vector<std::pair<Index, std::string>> out;
  for (const auto& record : run.records) out.emplace_back(record.step, record.split);
  return out;
}

/// Asks to stop after a number of steps.
class StoppingObserver final : public Observer {
 public:
  explicit StoppingObserver(int steps) : steps_(steps) {}
  void progress(std::string_view /*stage*/, double /*done*/, double /*total*/) override {
    --steps_;
  }
  [[nodiscard]] bool interrupted() const override { return steps_ <= 0; }

 private:
  int steps_;
};

}  // namespace

TEST_CASE("seeds and threads of a run are the study's") {
  Study study = short_study();
  CHECK(headway::resolved_run(study).seed == 5);
  CHECK(headway::task_seed(study) == 5);
  study.task.seed = 9;
  CHECK(headway::resolved_run(study).seed == 5);
  CHECK(headway::task_seed(study) == 9);
}

TEST_CASE("the hash of a task changes with its examples") {
  Study study = short_study();
  const std::string hash = headway::make_generated_task(study).content_hash;
  CHECK(headway::make_generated_task(study).content_hash == hash);
  study.task.seed = 6;
  CHECK(headway::make_generated_task(study).content_hash != hash);
  study.task.seed = 5;
  CHECK(headway::make_generated_task(study).content_hash == hash);
  study.task.as<tasks::FuzzyLogicOptions>().held_out = 0.3;
  CHECK(headway::make_generated_task(study).content_hash != hash);
  study.task.set_kind(headway::TaskKind::kDataset);
  CHECK_THROWS_WITH(
      headway::make_generated_task(study),
      "task.kind = \"dataset\": must be \"fuzzy_logic\", \"sraven\", \"text\", \"omniglot\" or "
      "\"arrays\" for headway train; this kind is for solve, align, prune and sample");
}

TEST_CASE("sizes of a run are those that were published") {
  Study study;
  study.task.set_kind(headway::TaskKind::kFuzzyLogic);
  study.task.as<tasks::FuzzyLogicOptions>().sequence_length = 16;
  study.train.run.device = training::Device::kCpu;
  const auto task = headway::make_generated_task(study);
  const headway::TrainCost cost = headway::train_cost(study, task.task->format());
  CHECK(cost.parameters == 151009);
  CHECK(cost.flops_per_step > cost.attention_flops_per_step);
  CHECK(cost.device == "cpu");
}

TEST_CASE("runs that do not fit their task are refused") {
  Study study = short_study();
  const auto task = headway::make_generated_task(study);
  CHECK_NOTHROW(headway::check_train_run(study, *task.task));
  study.train.run.best_split = "test";
  CHECK_THROWS_AS(headway::check_train_run(study, *task.task), Error);
  study.train.run.best_split = "unknown_terms";
  CHECK_NOTHROW(headway::check_train_run(study, *task.task));
  study.train.model.heads = 3;
  CHECK_THROWS_AS(headway::check_train_run(study, *task.task), Error);
}

TEST_CASE("without LibTorch nothing is trained", "[without_torch]") {
  Observer observer;
  CHECK_THROWS_AS(headway::train(two_runs(), &headway::make_generated_task, observer), Error);
}

TEST_CASE("a grid is trained, saved, stopped, gone on with, and skipped where done", "[torch]") {
  const std::vector<TrainRun> runs = two_runs();
  Observer observer;
  const TrainResult whole = headway::train(runs, &headway::make_generated_task, observer);
  REQUIRE(whole.runs.size() == 2);
  CHECK_FALSE(whole.interrupted);
  CHECK(whole.runs[0].done());
  CHECK_FALSE(whole.runs[0].state.parameters == whole.runs[1].state.parameters);

  // Every saved checkpoint is a place to go on from: also one in the middle of an evaluation.
  std::vector<std::pair<std::size_t, TrainedRun>> saved;
  TrainHooks hooks;
  hooks.save = [&](std::size_t run, const TrainedRun& trained) {
    saved.emplace_back(run, trained);
  };
  const TrainResult again = headway::train(runs, &headway::make_generated_task, observer, hooks);
  CHECK(again.runs[1].state.parameters == whole.runs[1].state.parameters);
  REQUIRE(saved.size() > 8);
  for (const auto& kept : saved) {
    if (kept.first != 0) continue;
    INFO("step " << kept.second.state.step);
    TrainHooks from;
    from.load = [&](std::size_t run) {
      return run == 0 ? std::optional(kept.second) : std::nullopt;
    };
    const TrainResult resumed =
        headway::train({runs.data(), 1}, &headway::make_generated_task, observer, from);
    CHECK(resumed.runs[0].state.parameters == whole.runs[0].state.parameters);
    CHECK(resumed.runs[0].state.best_parameters == whole.runs[0].state.best_parameters);
    CHECK(places(resumed.runs[0]) == places(whole.runs[0]));
  }

  std::vector<std::optional<TrainedRun>> kept(2);
  hooks.save = [&](std::size_t run, const TrainedRun& trained) { kept[run] = trained; };
  StoppingObserver stopping(37);
  const TrainResult part = headway::train(runs, &headway::make_generated_task, stopping, hooks);
  CHECK(part.interrupted);
  REQUIRE(part.runs.size() == 2);
  CHECK(part.runs[0].done());
  CHECK(part.runs[1].state.step == 7);
  int trained_runs = 0;
  hooks.load = [&](std::size_t run) { return kept[run]; };
  hooks.begin = [&](std::size_t, const TrainedRun& run) { trained_runs += run.done() ? 0 : 1; };
  const TrainResult rest = headway::train(runs, &headway::make_generated_task, observer, hooks);
  CHECK(trained_runs == 1);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(rest.runs[i].state.parameters == whole.runs[i].state.parameters);
    CHECK(places(rest.runs[i]) == places(whole.runs[i]));
  }
}

TEST_CASE("the time of a run that is gone on with counts that of its earlier calls", "[torch]") {
  const std::vector<TrainRun> runs = two_runs();
  std::optional<TrainedRun> kept;
  TrainHooks hooks;
  hooks.save = [&](std::size_t, const TrainedRun& run) { kept = run; };
  StoppingObserver stopping(10);
  headway::train({runs.data(), 1}, &headway::make_generated_task, stopping, hooks);
  REQUIRE(kept);
  REQUIRE_FALSE(kept->done());
  kept->training_seconds = 1000.0;
  hooks.load = [&, earlier = *kept](std::size_t) { return std::optional(earlier); };
  std::vector<double> saved;
  hooks.save = [&](std::size_t, const TrainedRun& run) { saved.push_back(run.training_seconds); };
  Observer observer;
  const TrainResult whole =
      headway::train({runs.data(), 1}, &headway::make_generated_task, observer, hooks);
  REQUIRE(whole.runs.at(0).done());
  CHECK(whole.runs[0].training_seconds > 1000.0);
  REQUIRE(saved.size() > 1);
  for (const double seconds : saved) CHECK(seconds > 1000.0);
}

TEST_CASE("runs at once have the same bits, and are told of one at a time", "[torch]") {
  std::vector<TrainRun> runs(5);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].study = short_study();
    runs[i].study.seed = i / 2;
    runs[i].study.train.model.attention = i % 2 == 0 ? "hyla" : "softmax";
    runs[i].settings = {{"seed", std::to_string(i)}};
  }
  Observer observer;
  const TrainResult alone = headway::train(runs, &headway::make_generated_task, observer);
  REQUIRE(alone.runs.size() == runs.size());
  std::atomic<int> inside = 0;
  int most = 0;
  std::vector<std::vector<Index>> steps(runs.size());
  std::vector<int> ended(runs.size(), 0);
  TrainHooks hooks;
  hooks.record = [&](std::size_t run, const TrainedRun&, const training::TrainRecord& record) {
    most = std::max(most, ++inside);
    steps[run].push_back(record.step);
    --inside;
  };
  hooks.end = [&](std::size_t run, const TrainedRun&) { ++ended[run]; };
  for (const JobShare share : {JobShare{2, 1}, JobShare{3, 2}, JobShare{5, 1}}) {
    steps.assign(runs.size(), {});
    ended.assign(runs.size(), 0);
    const TrainResult together =
        headway::train(runs, &headway::make_generated_task, observer, hooks, share);
    REQUIRE(together.runs.size() == runs.size());
    CHECK(together.threads == share.jobs * share.threads);
    CHECK(ended == std::vector<int>(runs.size(), 1));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      CHECK(together.runs[i].settings == runs[i].settings);
      CHECK(together.runs[i].state.parameters == alone.runs[i].state.parameters);
      CHECK(together.runs[i].state.best_parameters == alone.runs[i].state.best_parameters);
      CHECK(places(together.runs[i]) == places(alone.runs[i]));
      CHECK(steps[i].size() == together.runs[i].records.size());
    }
  }
  CHECK(most == 1);
}

TEST_CASE("an error in one of the runs at once stops the others, and is thrown", "[torch]") {
  std::vector<TrainRun> runs = two_runs();
  runs[1].study.train.run.steps = 100'000'000;  // would take days
  runs[1].study.train.run.eval_every = 100'000'000;
  Observer observer;
  TrainHooks hooks;
  hooks.record = [&](std::size_t run, const TrainedRun&, const training::TrainRecord& record) {
    if (run == 0 && record.step == 30) throw Error(ErrorKind::kCannotWrite, "the disk is full");
  };
  CHECK_THROWS_WITH(headway::train(runs, &headway::make_generated_task, observer, hooks, {2, 1}),
                    Catch::Matchers::ContainsSubstring("the disk is full"));
}

TEST_CASE("ranks train a grid together, and hear of an error that any of them has", "[torch]") {
  std::vector<TrainRun> runs = two_runs();
  for (TrainRun& run : runs) run.study.train.run.micro_batches = 2;
  Observer observer;
  const TrainResult whole = headway::train(runs, &headway::make_generated_task, observer);
  for (const int failing : {-1, 0, 1, 2}) {
    CAPTURE(failing);
    std::vector<std::optional<TrainResult>> results(3);
    testing::on_ranks(3, [&](Ranks& ranks) {
      training::TrainingRanks together(ranks);
      TrainHooks hooks;
      hooks.ranks = &together;
      if (ranks.is_first()) hooks.load = [&](std::size_t) { return std::optional(whole.runs[0]); };
      const auto load = hooks.load;
      hooks.load = [&, load](std::size_t run) {
        if (run == 1 && ranks.rank() == failing) throw Error(ErrorKind::kBadData, "a bad disk");
        return load && run == 0 ? load(run) : std::nullopt;
      };
      try {
        results[static_cast<std::size_t>(ranks.rank())] =
            headway::train(runs, &headway::make_generated_task, observer, hooks);
      } catch (const Error&) {
        if (ranks.rank() != failing) ranks.abort(1);
      }
    });
    for (int rank = 0; rank < 3; ++rank) {
      const std::optional<TrainResult>& result = results[static_cast<std::size_t>(rank)];
      REQUIRE(result.has_value() == (rank != failing));
      if (result) CHECK(result->interrupted == (failing >= 0));
    }
    if (failing >= 0) continue;
    REQUIRE(results[0]->runs.size() == 2);
    CHECK(results[0]->runs[0].records.size() == whole.runs[0].records.size());  // not again
    CHECK(results[0]->runs[1].state.parameters == whole.runs[1].state.parameters);
    CHECK(results[0]->runs[1].state.best_parameters == whole.runs[1].state.best_parameters);
    CHECK(places(results[0]->runs[1]) == places(whole.runs[1]));
    CHECK(results[0]->threads == 3);
  }
}

TEST_CASE("a checkpoint of another model is refused", "[torch]") {
  const std::vector<TrainRun> runs = two_runs();
  Observer observer;
  TrainedRun other =
      headway::train({runs.data(), 1}, &headway::make_generated_task, observer).runs[0];
  other.summary.outcome = training::TrainOutcome::kInterrupted;
  std::vector<TrainRun> changed = two_runs();
  changed[0].study.train.model.mlp_dim = 12;
  TrainHooks hooks;
  hooks.load = [&](std::size_t) { return std::optional(other); };
  try {
    headway::train({changed.data(), 1}, &headway::make_generated_task, observer, hooks);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("up.weight"));
  }
}

TEST_CASE("the memory of a run is that of the examples, tokens and dims that it has at a time") {
  training::TaskFormat format{.tokens = 9, .features = 5, .outputs = 1, .scored = 2};
  Study study;
  study.task.set_kind(TaskKind::kFuzzyLogic);
  study.train.run.batch = 1200;
  study.train.model.layers = 3;
  const auto streams = [&] {
    const TrainCost cost = headway::train_cost(study, format);
    return cost.least_bytes / 4.0 - 10.0 * static_cast<double>(cost.parameters);
  };
  CHECK(streams() == 1200.0 * 3 * 9 * 128);
  study.train.run.accumulation = 4;
  CHECK(streams() == 300.0 * 3 * 9 * 128);
  study.train.run.micro_batches = 3;
  CHECK(streams() == 100.0 * 3 * 9 * 128);
  study.train.model.width_multiplier = 2;
  CHECK(streams() == 100.0 * 3 * 9 * 256);
  study.train.model.encoder_layers = 5;
  CHECK(streams() == 100.0 * (3 * 2 + 5 * 7) * 256);
  study.train.model = {};
  study.train.model.network = training::NetworkKind::kLinearValue;
  study.train.model.layers = 3;
  format.scored = 1;
  CHECK(streams() == 100.0 * 2 * 9 * 128);
}

TEST_CASE("runs that need more than the memory there is at once are refused") {
  headway::TrainCost cost;
  cost.device = "cpu";
  cost.parameters = 1'000'000;
  cost.least_bytes = 2e9;
  CHECK_NOTHROW(headway::require_memory(cost, 2, 4e9));
  try {
    headway::require_memory(cost, 3, 4e9);
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    CHECK(
        std::string(error.what()) ==
        "train.model_dim, train.layers, train.batch: 1000000 parameters and a batch need 5.6 GiB, "
        "3 runs at once (--jobs): must be at most 3.7 GiB, the memory of this machine. "
        "Raise train.accumulation to compute a batch in smaller pieces");
  }
  cost.device = "cuda";  // has memory of its own
  CHECK_NOTHROW(headway::require_memory(cost, 3, 4e9));
}

TEST_CASE("a sweep is cut into stacks of runs that differ in seed and rates alone") {
  std::vector<TrainRun> runs(9);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].study.seed = 10 + i;
    runs[i].study.train.run.learning_rate = 1e-3 * static_cast<double>(1 + i % 2);
  }
  runs[3].study.train.model.layers = 3;
  runs[6].study.train.run.batch = 64;
  runs[8].study.train.run.batch = 64;
  runs[7].study.train.run.micro_batches = 2;
  const auto all = headway::stacks_of(runs, {0, 1, 2, 3, 4, 5, 6, 7, 8}, 3);
  using Groups = std::vector<std::vector<std::size_t>>;
  CHECK(all.stacks == Groups{{0, 1}, {2, 4, 5}, {6, 8}});
  CHECK(all.alone == std::vector<std::size_t>{3, 7});
  CHECK(headway::stacks_of(runs, {0, 7}, 3).stacks.empty());
}

TEST_CASE("runs of different precision are never trained side by side") {
  using training::Precision;
  std::vector<TrainRun> runs(5);
  const std::array precisions = {Precision::kFloat32, Precision::kTf32, Precision::kFloat32,
                                 Precision::kBfloat16, Precision::kTf32};
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].study.train.run.precision = precisions[i];
  using Groups = std::vector<std::vector<std::size_t>>;
  CHECK(headway::groups_of_precision(runs, {0, 1, 2, 3, 4}, 2) == Groups{{0, 2}, {1, 4}, {3}});
  CHECK(headway::groups_of_precision(runs, {1, 2, 4}, 3) == Groups{{1, 4}, {2}});
  // One at a time they keep their order.
  CHECK(headway::groups_of_precision(runs, {0, 1, 2}, 1) == Groups{{0, 1, 2}});
  CHECK(headway::groups_of_precision(runs, {}, 2).empty());
}
