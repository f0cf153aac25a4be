// Trainers whose steps are one step of all: each run has the bits that it has alone, and ends for
// itself. The step runs on the emulator.
#include "headway/training/training_stack.hpp"

#include <chrono>
#include <cmath>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "catch.hpp"
#include "emulated_step.hpp"
#include "engine_answers.hpp"
#include "headway/core/jobs.hpp"
#include "training/trainer/trainer_implementation.hpp"
#include "training/trainer/training_stack.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using headway::Index;

namespace {

struct Run {
  std::uint64_t seed = 1;
  double rate = 1e-2;
  double stop_at = 1e9;
  Index last_example = 1000;  ///< training examples after it are infinite
};

/// A task some of whose training examples make a run diverge.
class BreakingTask final : public TrainingTask {
 public:
  explicit BreakingTask(Index last_example) : last_example_(last_example) {}
  const TaskFormat& format() const override { return task_.format(); }
  const std::vector<std::string>& splits() const override { return task_.splits(); }
  Index size(std::string_view split) const override { return task_.size(split); }
  std::string_view selection_split() const override { return task_.selection_split(); }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    task_.batch(split, first, count, out);
    if (split == "train" && first > last_example_) out.inputs[0] = INFINITY;
  }

 private:
  PatternTask task_ = PatternTask(4, 2);
  Index last_example_;
};

struct Trained {
  TrainSummary summary;
  TrainState state;
  std::vector<TrainRecord> records;
};

class Records final : public TrainSink {
 public:
  void record(const TrainRecord& record) override { records.push_back(record); }
  std::vector<TrainRecord> records;
};

TrainOptions options_of(const Run& run) {
  TrainOptions options = small_run();
  options.steps = 6;
  options.batch = 3;
  options.eval_every = 2;
  options.eval_examples = 5;
  options.log_every = 2;
  options.seed = run.seed;
  options.learning_rate = run.rate;
  options.eager = true;  // the step is the only thing that is not LibTorch's
  return options;
}

TransformerOptions model_of(const Run&) {
  TransformerOptions model = small_model();
  model.attention = "hyla";
  model.layers = 1;
  model.attention_dropout = 0.2;
  return model;
}

std::unique_ptr<detail::StepDevice> emulated_device(void*) {
  return std::make_unique<EmulatedStepDevice>();
}

// Leaves whatever happens: else the others would wait for ever.
class Place {
 public:
  Place(TrainingStack& stack, Index place) : stack_(stack), place_(place) { stack.enter(place); }
  ~Place() { stack_.leave(place_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  TrainingStack& stack_;
  Index place_;
};

// The runs of one stack, each in a thread of its own.
std::vector<Trained> train(const std::vector<Run>& runs) {
  TrainingStack stack(std::make_unique<TrainingStack::Implementation>(
      static_cast<Index>(runs.size()), emulated_device));
  std::vector<Trained> all(runs.size());
  headway::run_jobs(runs.size(), runs.size(), [&](std::size_t i) {
    const Place place(stack, static_cast<Index>(i));
    const BreakingTask task(runs[i].last_example);
    Trainer trainer(model_of(runs[i]), options_of(runs[i]), task, stack, static_cast<Index>(i));
    StopAt observer(runs[i].stop_at);
    Records sink;
    all[i].summary = trainer.run(observer, sink);
    all[i].state = trainer.state();
    all[i].records = sink.records;
  });
  return all;
}

void check_same(const Trained& a, const Trained& b) {
  CHECK(a.summary.outcome == b.summary.outcome);
  CHECK(a.summary.last_train_loss == b.summary.last_train_loss);
  CHECK(a.summary.best_step == b.summary.best_step);
  CHECK(a.summary.best_loss == b.summary.best_loss);
  CHECK(a.state.step == b.state.step);
  CHECK(a.state.parameters == b.state.parameters);
  CHECK(a.state.second_moments == b.state.second_moments);
  CHECK(a.state.best_parameters == b.state.best_parameters);
  REQUIRE(a.records.size() == b.records.size());
  for (std::size_t i = 0; i < a.records.size(); ++i) {
    CHECK(a.records[i].step == b.records[i].step);
    CHECK(a.records[i].loss == b.records[i].loss);
    CHECK(a.records[i].gradient_norm == b.records[i].gradient_norm);
  }
}

}  // namespace

TEST_CASE("Trainers of a stack: each has its own bits, records and end", "[torch]") {
  const Run one{1, 1e-2};
  const Run two{2, 3e-2};
  const Run diverges{3, 1e-2, 1e9, 5};
  const Run stops{4, 1e-2, 3.0};
  const Trained alone_one = train({one})[0];
  const Trained alone_two = train({two})[0];
  CHECK(alone_one.summary.outcome == TrainOutcome::kFinished);
  CHECK(alone_one.state.step == 6);
  CHECK(alone_one.state.parameters != alone_two.state.parameters);

  const std::vector<Trained> both = train({two, one});
  check_same(both[0], alone_two);
  check_same(both[1], alone_one);

  const std::vector<Trained> four = train({diverges, one, stops, two});
  CHECK(four[0].summary.outcome == TrainOutcome::kDiverged);
  CHECK(four[0].state.step == 2);
  CHECK(four[2].summary.outcome == TrainOutcome::kInterrupted);
  CHECK(four[2].state.step == 3);
  check_same(four[1], alone_one);
  check_same(four[3], alone_two);
  check_same(four[2], train({stops})[0]);
}

TEST_CASE("A stack serves the runs that fit the one that came first, and no others", "[torch]") {
  const TransformerOptions model = model_of({});
  const TrainOptions options = options_of({});
  TransformerOptions wider = model;
  wider.mlp_dim = 6;
  TrainOptions larger = options;
  larger.batch = 4;
  TaskFormat longer = PatternTask(4, 2).format();
  longer.tokens += 1;
  struct Comer {
    TransformerOptions model;
    TrainOptions options;
    TaskFormat format;
    bool served;
  };
  const TaskFormat format = PatternTask(4, 2).format();
  const std::vector<Comer> comers = {{model, options, format, true},
                                     {model, options_of({7, 0.5}), format, true},
                                     {wider, options, format, false},
                                     {model, larger, format, false},
                                     {model, options, longer, false}};
  TrainingStack::Implementation stack(static_cast<Index>(comers.size()), emulated_device);
  for (std::size_t i = 0; i < comers.size(); ++i) {
    CAPTURE(i);
    const Comer& comer = comers[i];
    const auto engine = stack.engine(detail::engine_setup(comer.model, comer.options, comer.format),
                                     comer.options, static_cast<Index>(i));
    CHECK((engine != nullptr) == comer.served);
  }
}

TEST_CASE("A trainer that does not fit its stack trains by itself", "[torch]") {
  TrainingStack stack(std::make_unique<TrainingStack::Implementation>(2, emulated_device));
  const PatternTask task(4, 2);
  std::vector<TrainState> states(2);
  headway::run_jobs(2, 2, [&](std::size_t i) {
    const Place place(stack, static_cast<Index>(i));
    TransformerOptions model = model_of({});
    if (i == 1) model.mlp_dim = 6;
    Trainer trainer(model, options_of({}), task, stack, static_cast<Index>(i));
    headway::Observer observer;
    TrainSink sink;
    trainer.run(observer, sink);
    states[i] = trainer.state();
  });
  CHECK(states[0].step == 6);
  CHECK(states[1].step == 6);
  CHECK(states[0].parameters.size() == states[1].parameters.size());
}

TEST_CASE("Nobody waits for a trainer that does not fit its stack", "[torch]") {
  constexpr std::chrono::seconds kPatience(30);
  TrainingStack stack(std::make_unique<TrainingStack::Implementation>(2, emulated_device));
  const PatternTask task(4, 2);
  std::promise<void> fitting_made, other_made, finished;
  bool in_time = false;
  Index steps = 0;
  headway::run_jobs(2, 2, [&](std::size_t i) {
    const Place place(stack, static_cast<Index>(i));
    TransformerOptions model = model_of({});
    if (i == 1) {
      fitting_made.get_future().wait_for(kPatience);
      model.mlp_dim = 6;
    }
    Trainer trainer(model, options_of({}), task, stack, static_cast<Index>(i));
    if (i == 1) {
      other_made.set_value();
      // It keeps its place until the other run is done, which must not be for its sake.
      in_time = finished.get_future().wait_for(kPatience) == std::future_status::ready;
      return;
    }
    fitting_made.set_value();
    other_made.get_future().wait_for(kPatience);
    headway::Observer observer;
    TrainSink sink;
    steps = trainer.run(observer, sink).steps;
    finished.set_value();
  });
  CHECK(in_time);
  CHECK(steps == 6);
}

namespace {

// Parameters, and behind them the loss, after two updates of an engine.
std::vector<float> after_two_updates(const detail::EngineSetup& setup, const detail::StepData& data,
                                     detail::AdamWStep update, detail::TransformerEngine& engine) {
  std::vector<float> values =
      detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format));
  engine.write(detail::EngineArray::kParameters, values);
  update.rate = 0.01;
  for (update.update = 1; update.update <= 2; ++update.update) engine.step(data, update);
  engine.read(detail::EngineArray::kParameters, values);
  values.push_back(static_cast<float>(engine.read_steps().back().loss));
  return values;
}

}  // namespace

TEST_CASE("Runs of a stack hide the tokens of their own examples", "[torch]") {
  const PatternTask task(5, 2, true);
  detail::EngineSetup setup = engine_setup(model_of({}), task, true);
  detail::StackShape shape;
  shape.batch = {kEngineExamples, true, true, 2};
  shape.constants.most_norm = 0.5;
  shape.meeting = std::make_shared<detail::StackMeeting>(2);
  setup.make_step_device = emulated_device;
  const auto stack = detail::torch_library().make_stack(setup, shape);
  REQUIRE(stack != nullptr);
  setup.make_step_device = nullptr;
  std::vector<detail::StepData> data(2);
  for (std::size_t i = 0; i < 2; ++i) {
    task.batch("train", static_cast<Index>(4 + 2 * i), kEngineExamples,
               data[i].pieces.emplace_back());
    data[i].dropout = dropout_of(setup.model, setup.format.tokens);
  }
  std::vector<std::vector<float>> found(2);
  headway::run_jobs(2, 2, [&](std::size_t i) {
    shape.meeting->enter(static_cast<Index>(i), std::chrono::seconds(30));
    const auto mine = stack->engine(static_cast<Index>(i));
    found[i] = after_two_updates(setup, data[i], shape.constants, *mine);
  });
  for (std::size_t i = 0; i < 2; ++i) {
    const auto alone = [&] {
      const auto engine = detail::torch_library().make_engine(setup);
      return after_two_updates(setup, data[i], shape.constants, *engine);
    };
    const std::vector<float> wanted = alone();
    CHECK(relative_to(found[i], wanted, 0.0) < 1e-4);
    data[i].pieces[0].mask.assign(data[i].pieces[0].mask.size(), 1);
    CHECK(relative_to(alone(), wanted, 0.0) > 1e-3);  // hidden tokens matter
  }
}

TEST_CASE("Runs fit one stack if they differ in seed, rates and decay alone") {
  const TransformerOptions model = model_of({});
  const TrainOptions options = options_of({});
  TrainOptions other = options_of({7, 0.5});
  other.weight_decay = 0.3;
  other.warmup_steps = 1;
  CHECK(fit_one_stack(model, options, model, other));
  other.batch = 6;
  CHECK_FALSE(fit_one_stack(model, options, model, other));
  TrainOptions in_parts = options;
  in_parts.micro_batches = 3;
  CHECK_FALSE(fit_one_stack(model, in_parts, model, in_parts));
  TransformerOptions wider = model;
  wider.mlp_dim *= 2;
  CHECK_FALSE(fit_one_stack(model, options, wider, options));
}

TEST_CASE("Where no stack serves them all runs fit, each by itself", "[torch]") {
  for (const Index runs : {1, 5}) {
    CHECK(runs_that_fit_one_stack(model_of({}), options_of({}), PatternTask(4, 2).format(), runs) ==
          runs);
  }
}

TEST_CASE("Who meets waits for all who entered and have not left") {
  detail::StackMeeting meeting(3);
  std::vector<std::vector<bool>> launches;
  const auto launch = [&](const std::vector<bool>& arrived) { launches.push_back(arrived); };
  const std::chrono::milliseconds none(0);
  for (const Index place : {0, 1}) meeting.enter(place, none);
  {
    std::jthread first([&] { meeting.arrive(0, launch); });
    std::jthread second([&] { meeting.arrive(1, launch); });
  }
  CHECK(launches == std::vector<std::vector<bool>>{{true, true, false}});
  meeting.enter(2, none);
  meeting.leave(1);
  std::jthread waits([&] { meeting.arrive(0, launch); });
  meeting.leave(2);  // the last one that run 0 waits for, whether it has arrived or not
  waits.join();
  REQUIRE(launches.size() == 2);
  CHECK(launches[1] == std::vector<bool>{true, false, false});
  const auto fails = [](const std::vector<bool>&) { throw headway::Error({}, "no memory"); };
  CHECK_THROWS(meeting.arrive(0, fails));
  CHECK_THROWS(meeting.arrive(0, launch));  // for good
}
