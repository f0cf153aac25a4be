#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/training/evaluation.hpp"
#include "headway/training/trainer.hpp"
#include "memory_arrays.hpp"
#include "training/trainer/example_order.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using headway::Index;
using headway::tasks::ArraySet;
using headway::training::detail::ExampleOrder;
using headway::training::detail::RandomPermutation;
using headway::training::detail::Walk;

namespace {

/// n sequences of one vector, its own number; the target is ten times that.
ArraySet numbered(Index n, const std::string& name = "train") {
  std::vector<double> x(static_cast<std::size_t>(n)), y(x.size());
  std::iota(x.begin(), x.end(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = 10.0 * x[i] + 0.5;
  return {name, {}, reals(name + "/vectors", {n, 1, 1}, x), reals(name + "/targets", {n}, y), {}};
}

std::unique_ptr<TrainingTask> task_of(std::vector<ArraySet> sets,
                                      const ArrayOptions& options = {}) {
  return make_array_task(checked_arrays(arrays_of(std::move(sets)), options), options);
}

std::vector<float> inputs_of(const TrainingTask& task, const std::string& split, Index first,
                             Index count) {
  TaskBatch batch;
  task.batch(split, first, count, batch);
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    CHECK(batch.targets[i] == 10.0F * batch.inputs[i] + 0.5F);
  }
  return batch.inputs;
}

/// A task's batches of one split as arrays: `count` examples.
ArraySet dumped(const TrainingTask& task, const std::string& split, const std::string& name,
                Index count) {
  TaskBatch batch;
  task.batch(split, 0, count, batch);
  const TaskFormat& format = task.format();
  ArraySet set;
  set.name = name;
  const std::vector<double> inputs(batch.inputs.begin(), batch.inputs.end());
  if (format.vocabulary > 0) {
    set.tokens = integers("t", {count, format.tokens}, {batch.ids.begin(), batch.ids.end()});
  } else {
    set.vectors = reals("v", {count, format.tokens, format.features}, inputs);
  }
  if (format.loss == LossKind::kSquaredError) {
    set.targets = reals("y", {count, format.outputs}, {batch.targets.begin(), batch.targets.end()});
    return set;
  }
  // Targets of every token, of which the scored ones count; anything in the others.
  std::vector<double> targets, mask;
  for (Index i = 0; i < count; ++i) {
    for (Index t = 0; t < format.tokens; ++t) {
      const Index place = t - (format.tokens - format.scored);
      mask.push_back(place >= 0 ? 1.0 : 0.0);
      targets.push_back(
          place >= 0 ? batch.classes[static_cast<std::size_t>(i * format.scored + place)] : -7.0);
    }
  }
  set.targets = integers("y", {count, format.tokens}, targets);
  set.loss_mask = integers("m", {count, format.tokens}, mask);
  return set;
}

/// What training says of train and of one further split, in order.
struct Losses : TrainSink {
  explicit Losses(std::string further) : split(std::move(further)) {}
  void record(const TrainRecord& record) override {
    if (record.split != "train" && record.split != split) return;
    numbers.push_back(record.loss);
    for (const Metric& metric : record.metrics) {
      if (metric.name == "r2_pooled") numbers.push_back(metric.value);
    }
  }
  void checkpoint(CheckpointKind, double, const std::function<TrainState()>&) override {}
  std::string split;
  std::vector<double> numbers;
};

std::vector<double> losses_of(const TrainingTask& task, const std::string& split) {
  TrainOptions options = small_run();
  options.log_every = 1;
  options.best_split = split;
  TransformerOptions model = small_model();
  model.attention = "hyla";
  Losses sink(split);
  headway::Observer observer;
  Trainer(model, options, task).run(observer, sink);
  return sink.numbers;
}

/// The same losses, step by step and on a further split, as the task itself has.
void check_same_losses(const TrainingTask& task, const std::string& further) {
  const TrainOptions run = small_run();
  ArrayOptions in_order;
  in_order.order = ArrayOrder::kFile;
  const bool classes = task.format().loss == LossKind::kCrossEntropy;
  in_order.counts = {task.format().vocabulary, classes ? task.format().outputs : 0, 0, 0};
  const auto again = task_of({dumped(task, "train", "train", run.steps * run.batch),
                              dumped(task, further, further, run.eval_examples)},
                             in_order);
  CHECK(again->format().scored == task.format().scored);
  CHECK_FALSE(again->format().weighted);
  const std::vector<double> losses = losses_of(*again, further);
  CHECK(losses.size() > static_cast<std::size_t>(run.steps));
  CHECK(losses == losses_of(task, further));
}

}  // namespace

TEST_CASE("A random permutation has every number once, and another one with other keys") {
  for (const Index size : {1, 2, 3, 5, 64, 1000}) {
    headway::Rng rng(3, headway::StreamPurpose::kTests, static_cast<std::uint64_t>(size));
    const RandomPermutation one(size, rng), other(size, rng);
    std::set<Index> seen;
    Index same = 0;
    for (Index i = 0; i < size; ++i) {
      seen.insert(one(i));
      same += one(i) == other(i) ? 1 : 0;
    }
    CHECK(static_cast<Index>(seen.size()) == size);
    CHECK(*seen.rbegin() == size - 1);
    if (size > 10) CHECK(same < 12);  // Poisson(1): 1e-8
  }
}

TEST_CASE("Every place of a random permutation is as likely for every number") {
  constexpr Index kSize = 7, kDraws = 14'000;
  std::vector<double> counts(kSize * kSize);
  headway::Rng rng(4, headway::StreamPurpose::kTests);
  for (Index d = 0; d < kDraws; ++d) {
    const RandomPermutation order(kSize, rng);
    for (Index i = 0; i < kSize; ++i) counts[static_cast<std::size_t>(i * kSize + order(i))] += 1.0;
  }
  double chi_squared = 0.0;
  const double expected = static_cast<double>(kDraws) / kSize;
  for (const double n : counts) chi_squared += (n - expected) * (n - expected) / expected;
  CHECK(chi_squared < 92.0);  // 36 degrees of freedom: larger by chance once in 1e6
}

TEST_CASE("An epoch has every row once, in an order of its own, also in windows of blocks") {
  constexpr Index kRows = 1000, kWindow = 256;
  for (const Index window : {Index{1024}, kWindow}) {
    const ExampleOrder order(Walk::kShuffled, kRows, window, 5);
    std::vector<Index> first, second;
    for (Index i = 0; i < kRows; ++i) {
      first.push_back(order.row(i));
      second.push_back(order.row(kRows + i));
    }
    CHECK(first != second);
    for (std::vector<Index>* epoch : {&first, &second}) {
      std::vector<Index> sorted = *epoch;
      std::sort(sorted.begin(), sorted.end());
      for (Index i = 0; i < kRows; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
    }
    if (window != kWindow) continue;
    // A window reads four blocks, and no other block.
    for (Index w = 0; w < kRows / kWindow; ++w) {
      std::set<Index> blocks;
      for (Index i = w * kWindow; i < (w + 1) * kWindow; ++i) {
        blocks.insert(first[static_cast<std::size_t>(i)] / ExampleOrder::kBlock);
      }
      CHECK(blocks.size() == 4);
    }
  }
  const ExampleOrder file(Walk::kInOrder, 3, 64, 5);
  CHECK(file.row(0) == 0);
  CHECK(file.row(5) == 2);
}

TEST_CASE("Arrays give their rows, held as a whole or by windows, as the seed says") {
  ArrayOptions whole;
  whole.seed = 9;
  const auto task = task_of({numbered(3000), numbered(70, "test")}, whole);
  CHECK(task->splits() == std::vector<std::string>{"train", "seen", "test"});
  CHECK(task->size("train") == 0);
  CHECK(task->size("test") == 70);
  CHECK(task->selection_split() == "seen");
  CHECK(task->size("seen") == 3000);
  CHECK(inputs_of(*task, "seen", 0, 9) == inputs_of(*task, "train", 0, 9));
  std::vector<float> epoch = inputs_of(*task, "train", 0, 3000);
  CHECK(epoch != inputs_of(*task, "train", 3000, 3000));
  CHECK(inputs_of(*task, "train", 2999, 2)[0] == epoch.back());
  ArrayOptions small = whole;
  small.held_bytes = 1;  // windows of 16 blocks
  const auto windows = task_of({numbered(3000), numbered(70, "test")}, small);
  std::vector<float> other = inputs_of(*windows, "train", 0, 3000);
  CHECK(other != epoch);
  std::sort(epoch.begin(), epoch.end());
  std::sort(other.begin(), other.end());
  CHECK(other == epoch);
  std::vector<float> test = inputs_of(*windows, "test", 0, 70);
  CHECK(test == inputs_of(*task, "test", 0, 70));
  std::sort(test.begin(), test.end());
  for (std::size_t i = 0; i < test.size(); ++i) CHECK(test[i] == static_cast<float>(i));
  ArrayOptions seed = whole;
  seed.seed = 10;
  CHECK(inputs_of(*task_of({numbered(3000)}, seed), "train", 0, 9) !=
        inputs_of(*task, "train", 0, 9));
  ArrayOptions file;
  file.order = ArrayOrder::kFile;
  CHECK(inputs_of(*task_of({numbered(4)}, file), "train", 3, 3) == std::vector<float>{3, 0, 1});
  TaskBatch batch;
  CHECK_THROWS_WITH(task->batch("test", 60, 11, batch),
                    "examples 60 to 71 of split \"test\": it has 70");
}

TEST_CASE("Factors are those of the examples in the order of the task") {
  ArraySet train = numbered(200);
  std::vector<double> own(200);
  std::iota(own.begin(), own.end(), 0.0);
  train.factors = {{"number", integers("train/factors/number", {200}, own)}};
  const auto task = task_of({train, numbered(5, "test")});
  const auto factors = task->factors("seen", 20, 150);
  REQUIRE(factors.size() == 1);
  CHECK(factors[0].name == "number");
  const std::vector<float> inputs = inputs_of(*task, "seen", 20, 150);
  CHECK(std::vector<float>(factors[0].values.begin(), factors[0].values.end()) == inputs);
  CHECK_FALSE(std::ranges::is_sorted(inputs));
  CHECK(task->factors("test", 0, 5).empty());
}

TEST_CASE("A set named validation chooses the best weights, else train's own examples") {
  CHECK_THROWS_WITH(task_of({numbered(4), numbered(4, "seen")}),
                    "own: seen: is the name of train's own examples where they are evaluated; "
                    "allowed: another name of this set");
  CHECK(task_of({numbered(4), numbered(4, "validation")})->splits() ==
        std::vector<std::string>{"train", "validation"});
  CHECK(task_of({numbered(4), numbered(4, "test"), numbered(4, "validation")})->selection_split() ==
        "validation");
}

TEST_CASE("Targets that do not count have weight 0, the others one over their share") {
  ArraySet set;
  set.name = "train";
  set.tokens = integers("t", {2, 3}, {0, 1, 2, 2, 1, 0});
  set.targets = integers("y", {2, 3}, {-1, 1, 2, -1, -1, 0});
  set.loss_mask = integers("m", {2, 3}, {0, 1, 1, 0, 0, 1});
  ArrayOptions file;
  file.order = ArrayOrder::kFile;
  const auto task = task_of({set}, file);
  CHECK(task->format().scored == 2);
  CHECK(task->format().weighted);
  TaskBatch batch;
  task->batch("train", 0, 2, batch);
  const float weight = 1.0F / 0.75F;
  CHECK(batch.weights == std::vector<float>{weight, weight, 0.0F, weight});
  CHECK(batch.classes == std::vector<std::int32_t>{1, 2, 0, 0});
}

TEST_CASE("Real targets of several tokens have a variance over those that count") {
  ArraySet set;
  set.name = "train";
  set.vectors = reals("v", {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  set.targets = reals("y", {2, 3, 1}, {1, 3, 8, 2, 2, 2});
  set.loss_mask = integers("m", {2, 3}, {1, 1, 0, 1, 1, 1});
  ArrayOptions file;
  file.order = ArrayOrder::kFile;
  TaskBatch batch;
  task_of({set}, file)->batch("train", 0, 2, batch);
  CHECK(batch.target_variances == std::vector<float>{1.0F, 0.0F});
}

TEST_CASE("Arrays of a task give its losses to the bit", "[torch]") {
  headway::tasks::FuzzyLogicOptions fuzzy;
  fuzzy.sequence_length = 6;
  check_same_losses(*make_fuzzy_logic_task(fuzzy), "held_out");
  check_same_losses(*make_sraven_task({}), "test");
  check_same_losses(*make_byte_text_task(pangram(40), text_options(8)), "held_out");
}

TEST_CASE("A masked loss is the mean over what counts, and what is hidden changes no bit",
          "[torch]") {
  const bool classes = GENERATE(true, false);
  CAPTURE(classes);
  const auto set_with = [&](double hidden) {
    std::vector<double> ids, y, mask;
    for (int i = 0; i < 8; ++i) {
      for (int t = 0; t < 4; ++t) {
        ids.push_back((3 * i + t) % 5);
        const bool counts = t > 0 && (i + t) % 3 != 0;
        mask.push_back(counts ? 1.0 : 0.0);
        y.push_back(counts ? (i + t) % 3 : hidden);
      }
    }
    ArraySet set;
    set.name = "train";
    set.tokens = integers("t", {8, 4}, ids);
    set.targets = classes ? integers("y", {8, 4}, y) : reals("y", {8, 4, 1}, y);
    set.loss_mask = integers("m", {8, 4}, mask);
    return set;
  };
  ArrayOptions file;
  file.order = ArrayOrder::kFile;
  const auto task = task_of({set_with(-1.0)}, file);
  TransformerOptions model = small_model();
  Trainer trainer(model, small_run(), *task);
  TaskBatch batch;
  task->batch("train", 0, 8, batch);
  Evaluator evaluator(task->format());
  evaluator.add(batch, trainer.outputs("train", 0, 8));
  // Every batch has all examples, so that their share is exactly that of train.
  CHECK_THAT(trainer.step().loss, WithinRel(evaluator.result().loss, 1e-5));

  const std::vector<double> losses = losses_of(*task, "seen");
  CHECK(losses == losses_of(*task_of({set_with(1e9)}, file), "seen"));

  TrainOptions pieces = small_run();
  pieces.accumulation = 4;
  Trainer cut(model, pieces, *task);
  Trainer whole(model, small_run(), *task);
  for (int step = 0; step < 4; ++step) {
    CHECK_THAT(cut.step().loss, WithinRel(whole.step().loss, 1e-5));
  }
}
