// How many runs a stack takes: as many as the memory of a device holds.
#include "training/step/step_memory.hpp"

#include <limits>
#include <vector>

#include "catch.hpp"
#include "emulated_step.hpp"
#include "engine_answers.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using detail::EngineSetup;
using headway::Index;

namespace {

constexpr Index kExamples = 3;

detail::StackShape shape_of(Index runs, Index evaluated = kExamples) {
  detail::StackShape shape;
  shape.batch = {kExamples, false, true, runs};
  shape.evaluated = evaluated;
  return shape;
}

double bytes_of(const EngineSetup& setup, Index runs) {
  return detail::step_bytes(setup, shape_of(runs).batch, {});
}

Index fitting(const EngineSetup& setup, double bytes, Index runs = 16,
              Index evaluated = kExamples) {
  return detail::runs_that_fit(setup, shape_of(runs, evaluated), {}, bytes);
}

// What `runs` runs and their evaluations take, of which there is a tenth more than that.
double needed(const EngineSetup& setup, Index runs, double evaluation = 1.0) {
  const double a_run = bytes_of(setup, 2) - bytes_of(setup, 1);
  const double shared = bytes_of(setup, 1) - a_run;
  return (shared + static_cast<double>(runs) * a_run * (1.0 + evaluation)) / 0.9;
}

}  // namespace

TEST_CASE("The memory of a step is that of its arrays, and grows by the same for each run") {
  for (const char* attention : {"softmax", "hyla_deep"}) {
    INFO(attention);
    TransformerOptions model = small_model();
    model.attention = attention;
    const PatternTask task(5, 2);
    const EngineSetup setup = engine_setup(model, task, false);
    const double one = bytes_of(setup, 1);
    const double a_run = bytes_of(setup, 2) - one;
    CHECK(bytes_of(setup, 5) - one == 4.0 * a_run);
    // More than parameters, gradients and moments: there are activations, too.
    const double parameters = 16.0 * static_cast<double>(detail::step_parameters(setup.shapes));
    CHECK(a_run > parameters);
    TransformerOptions deeper = model;
    deeper.layers += 1;
    const EngineSetup more = engine_setup(deeper, task, false);
    const double with_it = 16.0 * static_cast<double>(detail::step_parameters(more.shapes));
    CHECK(bytes_of(more, 1) - one > with_it - parameters);
  }
}

TEST_CASE("A stack has as many runs as the memory holds") {
  const PatternTask task(5, 2);
  const EngineSetup setup = engine_setup(small_model(), task, false);
  for (const Index runs : {2, 5, 15}) {
    CHECK(fitting(setup, 1.0001 * needed(setup, runs)) == runs);
    CHECK(fitting(setup, 0.9999 * needed(setup, runs)) == runs - 1);
  }
  CHECK(fitting(setup, 1e12) == 16);
  CHECK(fitting(setup, std::numeric_limits<double>::infinity()) == 16);
  CHECK(fitting(setup, 1.0) == 1);  // and that one will say that there is no memory
  CHECK(fitting(setup, 0.0) == 1);
}

TEST_CASE("Evaluations of more examples leave memory for fewer runs") {
  const PatternTask task(5, 2);
  const EngineSetup setup = engine_setup(small_model(), task, false);
  const double bytes = 1.0001 * needed(setup, 6, 4.0);
  CHECK(fitting(setup, bytes, 16, 4 * kExamples) == 6);
  CHECK(fitting(setup, bytes, 16, kExamples) > 12);
  CHECK(fitting(setup, bytes, 16, 1) == fitting(setup, bytes, 16, kExamples));
}

TEST_CASE("The count is what a device is asked for") {
  const auto check = [](TransformerOptions model, const TrainingTask& task, Precision precision) {
    EngineSetup setup = engine_setup(model, task, false);
    setup.precision = precision;
    detail::StepData data;
    task.batch("train", 0, kExamples, data.pieces.emplace_back());
    data.dropout = dropout_of(setup.model, setup.format.tokens);
    for (const std::size_t runs : {1, 3}) {
      const EmulatedStep step(setup, std::vector<detail::StepData>(runs, data));
      CHECK(step.device_.bytes() == bytes_of(setup, static_cast<Index>(runs)));
    }
  };
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    for (const char* attention : {"softmax", "hyla_deep"}) {
      INFO(attention << (precision == Precision::kBfloat16 ? ", bf16" : ""));
      TransformerOptions model = small_model();
      model.attention = attention;
      check(model, PatternTask(5, 2), precision);
      check(model, CountingTask(5, true), precision);   // ids and classes
      check(model, CountingTask(5, false), precision);  // targets that are numbers
    }
  }
}
