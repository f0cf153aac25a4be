// Steps that several ranks take together give the bits of one process: whichever rank computes a
// micro-batch, whichever asks to stop, and on however many ranks the run is resumed.
#include "headway/training/training_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/training/trainer.hpp"
#include "larger.hpp"
#include "thread_ranks.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using headway::Index;
using headway::Ranks;

namespace {

constexpr Index kMicroBatches = 4;

TransformerOptions dropping_model() {
  TransformerOptions model = small_model();
  model.attention = "hyla";
  model.attention_dropout = 0.2;
  return model;
}

TrainOptions run_in_parts(Index micro_batches = kMicroBatches) {
  TrainOptions options = small_run();
  options.learning_rate = 0.01;
  options.micro_batches = micro_batches;
  return options;
}

/// The losses of a batch's parts are about 1e16 and 1, 1, 1: what is left of the small ones depends
/// on the order in which they are added.
class WideTask final : public TrainingTask {
 public:
  WideTask() {
    format_.outputs = 1;
    format_.loss = LossKind::kSquaredError;
  }
  const TaskFormat& format() const override { return format_; }
  const std::vector<std::string>& splits() const override { return pattern_.splits(); }
  Index size(std::string_view split) const override { return pattern_.size(split); }
  std::string_view selection_split() const override { return pattern_.selection_split(); }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    pattern_.batch(split, first, count, out);
    for (Index i = first; i < first + count; ++i) {
      const bool large = i % small_run().batch < small_run().batch / kMicroBatches;
      for (Index t = 0; t < format_.scored; ++t) out.targets.push_back(large ? 1e8F : 0.7F);
    }
  }

 private:
  PatternTask pattern_{6, 2};
  TaskFormat format_ = pattern_.format();
};

/// A run as one rank has it.
struct Course {
  TrainState state;
  TrainSummary summary;
  std::vector<TrainRecord> records;
  TrainState kept;
};

class Log : public TrainSink {
 public:
  explicit Log(Course& course) : course_(course) {}
  void record(const TrainRecord& record) override { course_.records.push_back(record); }
  void checkpoint(CheckpointKind, double, const std::function<TrainState()>& state) override {
    course_.kept = state();
  }

 private:
  Course& course_;
};

const PatternTask kTask(6, 2);

/// The run on so many ranks; with `from`, which the first alone has, from that state. `stopping`
/// asks to stop after step `step`.
std::vector<Course> courses(int count, const TrainOptions& options,
                            const TrainState* from = nullptr, int stopping = -1, double step = 0.0,
                            const TrainingTask& task = kTask) {
  std::vector<Course> all(static_cast<std::size_t>(count));
  on_ranks(count, [&](Ranks& ranks) {
    Course& mine = all[static_cast<std::size_t>(ranks.rank())];
    TrainingRanks together(ranks);
    Trainer trainer(dropping_model(), options, task);
    if (from != nullptr && ranks.is_first()) trainer.set_state(*from);
    trainer.take_steps_with(together);
    StopAt observer(ranks.rank() == stopping ? step : 1e9);
    Log log(mine);
    mine.summary = trainer.run(observer, log);
    mine.state = trainer.state();
  });
  return all;
}

Course alone(const TrainOptions& options, const TrainingTask& task = kTask) {
  Course mine;
  Trainer trainer(dropping_model(), options, task);
  headway::Observer quiet;
  Log log(mine);
  mine.summary = trainer.run(quiet, log);
  mine.state = trainer.state();
  return mine;
}

void check_same_weights(const TrainState& a, const TrainState& b) {
  CHECK(a.step == b.step);
  CHECK(a.parameters == b.parameters);
  CHECK(a.first_moments == b.first_moments);
  CHECK(a.second_moments == b.second_moments);
}

/// Bits, but for what the first alone knows.
void check_same(const Course& one, const Course& other) {
  check_same_weights(one.state, other.state);
  CHECK(one.state.best_step == other.state.best_step);
  CHECK(one.state.best_loss == other.state.best_loss);
  CHECK(one.state.best_parameters == other.state.best_parameters);
  REQUIRE(one.records.size() == other.records.size());
  for (std::size_t i = 0; i < one.records.size(); ++i) {
    CHECK(one.records[i].split == other.records[i].split);
    CHECK(one.records[i].step == other.records[i].step);
    CHECK(one.records[i].loss == other.records[i].loss);
    CHECK(one.records[i].gradient_norm == other.records[i].gradient_norm);
    CHECK(one.records[i].metrics == other.records[i].metrics);
  }
}

double largest_difference(const TrainState& a, const TrainState& b) {
  double most = 0.0;
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    for (std::size_t j = 0; j < a.parameters[i].values.size(); ++j) {
      const double x = a.parameters[i].values[j];
      most = headway::testing::larger(most, std::abs(x - b.parameters[i].values[j]));
    }
  }
  return most;
}

}  // namespace

TEST_CASE("Any number of ranks trains to the bits of one process", "[torch]") {
  TrainOptions options = run_in_parts();
  options.eager = GENERATE(false, true);
  options.accumulation = options.eager ? 1 : 2;
  const Course whole = alone(options);
  REQUIRE(whole.summary.outcome == TrainOutcome::kFinished);
  REQUIRE(whole.state.step == options.steps);
  for (const int count : {1, 2, 3, 5}) {  // the fifth has nothing to do
    CAPTURE(count, options.accumulation, options.eager);
    const std::vector<Course> shared = courses(count, options);
    check_same(shared[0], whole);
    for (const Course& course : shared) check_same_weights(course.state, whole.state);
    CHECK((count == 1 || shared[1].records.empty()));
  }
}

TEST_CASE("The order of adding shows in the losses, and is the same on any number of ranks",
          "[torch]") {
  const WideTask task;
  TrainOptions options = run_in_parts();
  options.log_every = 1;
  const Course whole = alone(options, task);
  for (const int count : {2, 3, 4})
    check_same(courses(count, options, nullptr, -1, 0.0, task)[0], whole);
}

TEST_CASE("One micro-batch is the whole batch, to the bit", "[torch]") {
  const Course whole = alone(run_in_parts(1));
  check_same(courses(2, run_in_parts(1))[0], whole);
}

TEST_CASE("Micro-batches change the rounding and nothing else, dropout neither", "[torch]") {
  const Course whole = alone(run_in_parts(1));
  const Course parts = alone(run_in_parts());
  const double difference = largest_difference(whole.state, parts.state);
  CHECK(difference > 0.0);
  CHECK(difference < 1e-4);  // Adam divides by small numbers
  TrainOptions other = run_in_parts();
  other.seed = 1;
  CHECK(largest_difference(whole.state, alone(other).state) > 0.1);
}

TEST_CASE("When one rank asks to stop all do, and any number of ranks goes on to the same bits",
          "[torch]") {
  const Course whole = alone(run_in_parts());
  const int stopping = GENERATE(0, 2);
  const std::vector<Course> stopped = courses(3, run_in_parts(), nullptr, stopping, 5.0);
  for (const Course& course : stopped) {
    CHECK(course.summary.outcome == TrainOutcome::kInterrupted);
    CHECK(course.summary.steps == 5);
  }
  const TrainState& state = stopped[0].kept;
  REQUIRE(state.step == 5);
  for (const int count : {1, 2, 4}) {
    CAPTURE(count);
    const std::vector<Course> rest = courses(count, run_in_parts(), &state);
    CHECK(rest[0].state.best_parameters == whole.state.best_parameters);
    for (const Course& course : rest) check_same_weights(course.state, whole.state);
  }
}

TEST_CASE("A run that goes wrong ends on all ranks at the same step", "[torch]") {
  TrainOptions options = run_in_parts();
  options.learning_rate = 1000.0;
  options.weight_decay = 1000.0;
  options.schedule = LearningRateSchedule::kConstant;
  options.steps = 100;
  const Course whole = alone(options);
  REQUIRE(whole.summary.outcome == TrainOutcome::kDiverged);
  for (const Course& course : courses(2, options)) {
    CHECK(course.summary.outcome == TrainOutcome::kDiverged);
    CHECK(course.summary.message == whole.summary.message);
    check_same_weights(course.state, whole.state);
  }
}

namespace {

/// The first of two ranks, whose messages fail once they are told to.
class FailingRanks final : public Ranks {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 2; }
  [[nodiscard]] int on_this_machine() const override { return 2; }
  void send(int, std::string_view) override { use(); }
  std::optional<headway::RankMessage> receive() override {
    use();
    return std::nullopt;
  }
  void send_numbers(int, std::span<const double>) override { use(); }
  /// The other rank has no leaf: its tree has no nodes.
  void receive_numbers(int, std::span<double> numbers) override {
    use();
    std::fill(numbers.begin(), numbers.end(), 0.0);
  }
  void abort(int exit_code) override { codes.push_back(exit_code); }

  bool broken = false;
  std::vector<int> codes;

 private:
  void use() const {
    if (broken) throw headway::Error(headway::ErrorKind::kUnavailable, "no connection");
  }
};

}  // namespace

TEST_CASE("A rank that fails while the others wait for it ends them all, and else it does not") {
  const auto mine = [] {
    headway::TreeSum sum;
    sum.push(0, {2.0});
    return sum;
  };
  const bool telling = GENERATE(false, true);
  FailingRanks ranks;
  TrainingRanks together(ranks);
  std::vector<double> numbers = {1.0};
  const auto exchange = [&] {
    if (telling) {
      together.tell(numbers);
    } else {
      static_cast<void>(together.total(mine()));
    }
  };
  exchange();
  CHECK(together.total(mine()) == std::vector<double>{2.0});
  CHECK(together.go_on(false));
  CHECK(ranks.codes.empty());
  ranks.broken = true;
  CHECK_THROWS_WITH(exchange(), "no connection");
  CHECK(ranks.codes.empty());
  CHECK_THROWS_WITH(together.go_on(true), "no connection");  // this abort() returns
  CHECK(ranks.codes == std::vector<int>{69});
}

TEST_CASE("Ranks that were asked to stop do not wait for each other any more") {
  on_ranks(3, [](Ranks& ranks) {
    TrainingRanks together(ranks);
    const bool all_go_on = together.go_on(false);
    const bool one_stops = !together.go_on(ranks.rank() == 1);
    bool alone_too = true;
    for (int i = 0; i <= ranks.rank(); ++i) alone_too = alone_too && !together.go_on(false);
    const auto [begin, end] = together.share(kMicroBatches);
    const Index wanted[] = {0, 1, 2, 4};
    const auto rank = static_cast<std::size_t>(ranks.rank());
    if (all_go_on && one_stops && together.stopped() && alone_too && begin == wanted[rank] &&
        end == wanted[rank + 1]) {
      return;
    }
    ranks.abort(1);
  });
  SUCCEED();
}
