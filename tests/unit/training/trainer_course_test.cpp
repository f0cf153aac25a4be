// What a run asks of its task, in order, and all that it tells: progress, records, checkpoints, the
// summary, and messages as users see them.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/training/trainer.hpp"
#include "training/model/named_tensors.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using headway::Index;

namespace {

using Call = std::tuple<std::string, Index, Index>;  // split, first example, their number

/// A pattern task that keeps what it was asked for. Its test split has an end.
class AskedTask final : public TrainingTask {
 public:
  explicit AskedTask(Index size = 0) : size_(size) {}
  const TaskFormat& format() const override { return pattern_.format(); }
  const std::vector<std::string>& splits() const override { return splits_; }
  Index size(std::string_view split) const override { return split == "test" ? size_ : 0; }
  std::string_view selection_split() const override { return "test"; }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    calls.emplace_back(split, first, count);
    pattern_.batch(split == "other" ? "test" : split, first, count, out);
  }
  mutable std::vector<Call> calls;

 private:
  PatternTask pattern_{5, 2};
  std::vector<std::string> splits_ = {"train", "test", "other"};
  Index size_;
};

/// Targets so large that the square of a gradient overflows, and the loss does not.
class HugeTask final : public TrainingTask {
 public:
  const TaskFormat& format() const override { return counting_.format(); }
  const std::vector<std::string>& splits() const override { return counting_.splits(); }
  Index size(std::string_view split) const override { return counting_.size(split); }
  std::string_view selection_split() const override { return counting_.selection_split(); }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    counting_.batch(split, first, count, out);
    for (float& target : out.targets) target = 3e18F;
  }

 private:
  CountingTask counting_{5, false};
};

class Progress : public headway::Observer {
 public:
  void progress(std::string_view what, double done, double of) override {
    calls.emplace_back(what, done, of);
  }
  std::vector<std::tuple<std::string, double, double>> calls;
};

class Told : public TrainSink {
 public:
  void record(const TrainRecord& record) override { records.push_back(record); }
  void checkpoint(CheckpointKind kind, double, const std::function<TrainState()>& state) override {
    checkpoints.emplace_back(kind, state().step);
  }
  std::vector<TrainRecord> records;
  std::vector<std::pair<CheckpointKind, Index>> checkpoints;
};

TrainOptions short_run(Index steps) {
  TrainOptions options = small_run();
  options.steps = steps;
  options.warmup_steps = 0;
  options.log_every = 1;
  options.eval_every = 0;
  return options;
}

std::string message_of(const std::function<void()>& call, headway::ErrorKind kind) {
  try {
    call();
  } catch (const headway::Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("A run asks for the pieces of each batch and for each evaluation, once and in order",
          "[torch]") {
  const AskedTask task;
  TrainOptions options = short_run(2);
  options.accumulation = 2;
  options.eval_every = 1;
  options.eval_examples = 20;
  options.eval_batch = 7;
  Trainer trainer(small_model(), options, task);
  CHECK(task.calls.empty());
  Progress observer;
  Told sink;
  trainer.run(observer, sink);
  const std::vector<Call> tests = {{"test", 0, 7},  {"test", 7, 7},  {"test", 14, 6},
                                   {"other", 0, 7}, {"other", 7, 7}, {"other", 14, 6}};
  std::vector<Call> wanted = {{"train", 0, 4}, {"train", 4, 4}};
  wanted.insert(wanted.end(), tests.begin(), tests.end());
  wanted.insert(wanted.end(), {{"train", 8, 4}, {"train", 12, 4}});
  wanted.insert(wanted.end(), tests.begin(), tests.end());
  CHECK(task.calls == wanted);
  CHECK(observer.calls ==
        std::vector<std::tuple<std::string, double, double>>{{"train", 1, 2}, {"train", 2, 2}});
}

TEST_CASE("The best weights are those of the lowest loss, also where it rises again", "[torch]") {
  const AskedTask task;
  TrainOptions options = short_run(16);
  options.schedule = LearningRateSchedule::kConstant;
  options.learning_rate = 1.0;
  options.eval_every = 1;
  Trainer trainer(small_model(), options, task);
  Told sink;
  headway::Observer observer;
  const TrainSummary summary = trainer.run(observer, sink);
  const TrainRecord* lowest = nullptr;
  const TrainRecord* last = nullptr;
  for (const TrainRecord& record : sink.records) {
    if (record.split != "test") continue;
    last = &record;
    if (lowest == nullptr || record.loss < lowest->loss) lowest = &record;
  }
  REQUIRE(lowest != nullptr);
  REQUIRE(lowest->step < summary.steps);
  CHECK(last->step == summary.steps);
  CHECK(summary.best_step == lowest->step);
  CHECK(summary.best_loss == lowest->loss);
  const TrainState state = trainer.state();
  trainer.set_parameters(state.best_parameters);
  CHECK(trainer.evaluate("test").loss == lowest->loss);
}

TEST_CASE("An evaluation ends with its split, and goes in batches of training unless told",
          "[torch]") {
  const AskedTask task(11);
  TrainOptions options = short_run(1);
  options.batch = 5;
  options.eval_examples = 20;
  Trainer trainer(small_model(), options, task);
  CHECK(trainer.evaluate("test").examples == 11);
  CHECK(task.calls == std::vector<Call>{{"test", 0, 5}, {"test", 5, 5}, {"test", 10, 1}});
  task.calls.clear();
  CHECK(trainer.evaluate("test", 3).examples == 3);
  CHECK(trainer.evaluate("other", 10).examples == 10);
  CHECK(task.calls == std::vector<Call>{{"test", 0, 3}, {"other", 0, 5}, {"other", 5, 5}});
  CHECK(message_of([&] { trainer.evaluate("tests"); }, headway::ErrorKind::kBadStudy) ==
        "split \"tests\": must be one of train, test, other (did you mean \"test\"?)");
}

TEST_CASE("Training examples are evaluated where they choose the best step", "[torch]") {
  const AskedTask task;
  TrainOptions options = short_run(1);
  options.eval_examples = 3;
  options.best_split = "train";
  Trainer trainer(small_model(), options, task);
  Progress observer;
  Told sink;
  const TrainSummary summary = trainer.run(observer, sink);
  CHECK(task.calls ==
        std::vector<Call>{{"train", 0, 8}, {"train", 0, 3}, {"test", 0, 3}, {"other", 0, 3}});
  REQUIRE(summary.evaluations.size() == 3);
  CHECK(summary.best_split == "train");
  CHECK(summary.best_loss == summary.evaluations[0].second.loss);
}

TEST_CASE("The summary and the records of a run agree", "[torch]") {
  const AskedTask task;
  TrainOptions options = short_run(6);
  options.warmup_steps = 2;
  options.eval_every = 2;
  options.eval_examples = 6;
  Trainer trainer(small_model(), options, task);
  Progress observer;
  Told sink;
  const TrainSummary summary = trainer.run(observer, sink);
  CHECK(summary.outcome == TrainOutcome::kFinished);
  CHECK(summary.message.empty());
  CHECK(summary.steps == 6);
  CHECK(summary.best_split == "test");
  CHECK(summary.training_seconds > 0.0);
  CHECK(summary.steps_per_second > 0.0);
  CHECK(summary.flops_per_second ==
        flops_per_step(small_model(), task.format(), 8).total() * summary.steps_per_second);
  std::vector<std::pair<std::string, Index>> order;
  double last = 0.0;
  double best = std::numeric_limits<double>::infinity();
  Index best_step = -1;
  for (const TrainRecord& record : sink.records) {
    order.emplace_back(record.split, record.step);
    CHECK(record.steps_per_second > 0.0);
    const bool trained = record.split == "train";
    CHECK(record.learning_rate == (trained ? learning_rate_at(options, record.step - 1) : 0.0));
    CHECK((record.gradient_norm > 0.0) == trained);
    CHECK(record.metrics.empty() == trained);
    if (trained) last = record.loss;
    if (record.split == "test" && record.loss < best) {
      best = record.loss;
      best_step = record.step;
    }
  }
  CHECK(order == std::vector<std::pair<std::string, Index>>{{"train", 1},
                                                            {"train", 2},
                                                            {"test", 2},
                                                            {"other", 2},
                                                            {"train", 3},
                                                            {"train", 4},
                                                            {"test", 4},
                                                            {"other", 4},
                                                            {"train", 5},
                                                            {"train", 6},
                                                            {"test", 6},
                                                            {"other", 6}});
  CHECK(summary.last_train_loss == last);
  CHECK(summary.best_loss == best);
  CHECK(summary.best_step == best_step);
  REQUIRE(summary.evaluations.size() == 2);
  CHECK(summary.evaluations[0].first == "test");
  CHECK(summary.evaluations[1].first == "other");
  CHECK(summary.evaluations[1].second.loss == sink.records.back().loss);
  CHECK(summary.evaluations[1].second.metrics == sink.records.back().metrics);
  CHECK(sink.checkpoints.back() == std::pair(CheckpointKind::kLast, Index{6}));
  const TrainState state = trainer.state();
  CHECK(state.step == 6);
  CHECK(state.examples == 6 * 8);
  CHECK(state.seed == options.seed);
  CHECK(state.loss_since_record == 0.0);
  CHECK(state.steps_since_record == 0);
}

TEST_CASE("A record is the mean over the steps since the last one, and the last steps have one",
          "[torch]") {
  const AskedTask task;
  TrainOptions options = short_run(5);
  Progress observer;
  Told each;
  Trainer(small_model(), options, task).run(observer, each);
  options.log_every = 3;
  Told some;
  Trainer(small_model(), options, task).run(observer, some);
  std::vector<double> losses, means;
  for (const TrainRecord& record : each.records) {
    if (record.split == "train") losses.push_back(record.loss);
  }
  std::vector<Index> steps;
  for (const TrainRecord& record : some.records) {
    if (record.split != "train") continue;
    means.push_back(record.loss);
    steps.push_back(record.step);
  }
  CHECK(steps == std::vector<Index>{3, 5});
  REQUIRE(losses.size() == 5);
  REQUIRE(means.size() == 2);
  CHECK(means[0] == (losses[0] + losses[1] + losses[2]) / 3.0);
  CHECK(means[1] == (losses[3] + losses[4]) / 2.0);
  options.log_every = 0;
  Told none;
  Trainer(small_model(), options, task).run(observer, none);
  for (const TrainRecord& record : none.records) CHECK(record.split != "train");
}

TEST_CASE("A run that is stopped says where, and evaluates nothing more", "[torch]") {
  const AskedTask task;
  Trainer trainer(small_model(), short_run(9), task);
  StopAt stop(4);
  Told sink;
  const TrainSummary summary = trainer.run(stop, sink);
  CHECK(summary.outcome == TrainOutcome::kInterrupted);
  CHECK(summary.message == "interrupted after step 4 of 9");
  CHECK(summary.steps == 4);
  CHECK(summary.evaluations.empty());
  CHECK(summary.best_step == -1);
  CHECK(summary.best_loss == 0.0);
  CHECK(sink.checkpoints ==
        std::vector<std::pair<CheckpointKind, Index>>{{CheckpointKind::kLast, 4}});
  for (const auto& call : task.calls) CHECK(std::get<0>(call) == "train");
}

TEST_CASE("A run that diverges says at which step and rate, and what to change", "[torch]") {
  const AskedTask task;
  TrainOptions options = short_run(40);
  options.schedule = LearningRateSchedule::kConstant;
  options.learning_rate = 1000.0;
  options.weight_decay = 100.0;
  Trainer trainer(small_model(), options, task);
  Progress observer;
  Told sink;
  const TrainSummary summary = trainer.run(observer, sink);
  REQUIRE(summary.outcome == TrainOutcome::kDiverged);
  CHECK_THAT(summary.message, StartsWith(fmt::format("step {}: the loss is ", summary.steps)) &&
                                  EndsWith(" at learning rate 1e+03. Lower train.learning_rate, "
                                           "raise train.warmup_steps, or set "
                                           "train.gradient_clip"));
  CHECK(summary.message.find("-nan") == std::string::npos);  // its sign says nothing
  CHECK(summary.evaluations.empty());
  CHECK(summary.last_train_loss == sink.records.back().loss);  // of the last finite step
  CHECK(observer.calls.size() == static_cast<std::size_t>(summary.steps));
}

TEST_CASE("A gradient whose square no float holds is a run that diverges", "[torch]") {
  // Else its second moment is infinite, and a parameter stays for good where it is.
  const HugeTask task;
  TrainOptions options = short_run(3);
  options.learning_rate = 1e-3;
  Progress observer;
  Told sink;
  const TrainSummary summary = Trainer(small_model(), options, task).run(observer, sink);
  CHECK(summary.outcome == TrainOutcome::kDiverged);
  CHECK_THAT(summary.message,
             StartsWith("step 0: the loss is ") && EndsWith("or set train.gradient_clip"));
  CHECK(summary.message.find("inf") == std::string::npos);  // loss and norm are finite
  options.gradient_clip = 1.0;
  const TrainSummary clipped = Trainer(small_model(), options, task).run(observer, sink);
  CHECK(clipped.outcome == TrainOutcome::kFinished);
}

TEST_CASE("States that are not this run's are refused in whole sentences", "[torch]") {
  const AskedTask task;
  TrainOptions options = short_run(3);
  options.seed = 7;
  Trainer trainer(small_model(), options, task);
  const auto refused = [&](TrainState state) {
    return message_of([&] { trainer.set_state(state); }, headway::ErrorKind::kBadData);
  };
  TrainState state = trainer.state();
  CHECK(refused(state) == "no error");
  state.step = 2;
  CHECK(refused(state) ==
        "checkpoint: seed 7, 0 examples after 2 steps; this run has seed 7 and 8 examples a step");
  state.examples = 16;
  state.seed = 6;
  CHECK(refused(state) ==
        "checkpoint: seed 6, 16 examples after 2 steps; this run has seed 7 and 8 examples a step");
  state.seed = 7;
  CHECK(refused(state) == "no error");
  CHECK(trainer.steps_done() == 2);
  state.step = -1;
  state.examples = -8;
  CHECK(
      refused(state) ==
      "checkpoint: seed 7, -8 examples after -1 steps; this run has seed 7 and 8 examples a step");
  // The best parameters count only where there is a best step.
  state = trainer.state();
  CHECK(state.best_step == -1);
  CHECK(state.best_parameters.empty());
  state.best_step = 0;
  CHECK(refused(state) ==
        fmt::format("weights: 0 tensors, but this model has {}", state.parameters.size()));
  CHECK(message_of(
            [&] {
              trainer.latent_codes("test", 0, 1, std::vector<TokenPair>{{0, 5}});
            },
            headway::ErrorKind::kBadStudy) == "token 5 of a latent code: must be from 0 to 4");
  CHECK(message_of(
            [&] {
              trainer.latent_codes("test", 0, 1, std::vector<TokenPair>{{-1, 0}});
            },
            headway::ErrorKind::kBadStudy) == "token -1 of a latent code: must be from 0 to 4");
  CHECK(trainer.latent_codes("test", 0, 1, std::vector<TokenPair>{}).empty());
  CHECK(trainer.latent_codes("test", 0, 0, std::vector<TokenPair>{{0, 0}}).empty());
  CHECK(trainer.outputs("test", 0, 0).empty());
  CHECK(trainer.outputs("test", 0, 3).size() == 3 * 2 * 2);
}

TEST_CASE("Tensors are joined and split in the order of a model, and refused by name") {
  using detail::ParameterShape;
  const std::vector<ParameterShape> shapes = {{"a.weight", {2, 3}}, {"b", {2}}, {"c", {1}}};
  const std::vector<NamedTensor> good = {
      {"a.weight", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b", {2}, {7, 8}}, {"c", {1}, {9}}};
  CHECK(detail::total_count(shapes) == 9);
  CHECK(detail::total_count({}) == 0);
  const std::vector<float> flat = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(detail::join_tensors(shapes, good) == flat);
  CHECK(detail::split_tensors(shapes, flat) == good);
  const std::vector<NamedTensor> mixed = {
      good[2], {"x", {1}, {0}}, good[1], {"y", {1}, {0}}, good[0]};
  const std::vector<NamedTensor> ordered = detail::in_order(shapes, mixed);
  std::vector<std::string> names;
  for (const NamedTensor& tensor : ordered) names.push_back(tensor.name);
  CHECK(names == std::vector<std::string>{"a.weight", "b", "c", "x", "y"});
  CHECK(ordered[0] == good[0]);

  const auto refused = [&](const auto& change) {
    std::vector<NamedTensor> bad = good;
    change(bad);
    return message_of([&] { static_cast<void>(detail::join_tensors(shapes, bad)); },
                      headway::ErrorKind::kBadData);
  };
  CHECK(refused([](auto& t) { t.pop_back(); }) == "weights: 2 tensors, but this model has 3");
  CHECK(refused([](auto& t) { t[1].name = "bb"; }) ==
        "weights: tensor bb [2] of 2 numbers, but this model has b [2] there");
  CHECK(refused([](auto& t) {
          t[0].shape = {3, 2};
        }) ==
        "weights: tensor a.weight [3, 2] of 6 numbers, but this model has a.weight [2, 3] there");
  CHECK(refused([](auto& t) { t[2].values.clear(); }) ==
        "weights: tensor c [1] of 0 numbers, but this model has c [1] there");
  CHECK(refused([](auto& t) { t[2].values[0] = std::nanf(""); }) ==
        "weights: tensor c holds nan: must be finite");
  CHECK(refused([](auto& t) { t[0].values[5] = -INFINITY; }) ==
        "weights: tensor a.weight holds -inf: must be finite");
}
