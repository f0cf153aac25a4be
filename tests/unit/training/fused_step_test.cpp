// The training step written by hand for a GPU, on the emulator: its gradients are those of the
// CPU's own step, its update is AdamW, and its list of launches is short.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "catch.hpp"
#include "emulated_step.hpp"
#include "engine_answers.hpp"
#include "step_networks.hpp"
#include "training/step/step_builder.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using detail::EngineSetup;
using detail::FusedStep;
using headway::Index;

namespace {

detail::StepData step_data(const EngineSetup& setup, const TrainingTask& task, bool dropout) {
  detail::StepData data;
  task.batch("train", 4, kEngineExamples, data.pieces.emplace_back());
  if (dropout) data.dropout = dropout_of(setup.model, setup.format.tokens);
  return data;
}

// Loss and gradients on the emulator are those of the CPU's own step.
void check_gradients(const TransformerOptions& model, const TrainingTask& task, bool dropout = true,
                     const GpuDevice& device = {}, double most = 5e-5) {
  const EngineSetup setup = engine_setup(model, task, false);
  const detail::StepData data = step_data(setup, task, dropout);
  const std::vector<float> values =
      detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format));

  const auto engine = detail::torch_library().make_engine(setup);
  engine->write(detail::EngineArray::kParameters, values);
  const double loss = engine->compute_gradients(data);
  std::vector<float> wanted(values.size());
  engine->read(detail::EngineArray::kGradients, wanted);

  EmulatedStep emulated(setup, {data}, {}, device);
  emulated.write(values, &emulated.values_);
  emulated.step_->run_gradients();
  CHECK(std::abs(emulated.loss_[0] - loss) < 1e-5 * loss);
  check_same_gradients(detail::split_tensors(setup.shapes, emulated.read(emulated.gradients_)),
                       detail::split_tensors(setup.shapes, wanted), most);
  CHECK(emulated.device_.launches() + 1 == emulated.step_->cost().launches);
}

// The gradients of a step whose library leaves that out of its products; `launches` of them.
std::vector<float> gradients_of(const EngineSetup& setup, const detail::StepData& data,
                                EmulatedStepDevice::LeftOut left_out, int* launches) {
  EmulatedStep step(setup, {data});
  step.device_.leave_out(left_out);
  step.write(detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format)),
             &step.values_);
  step.step_->run_gradients();
  *launches = step.device_.launches();
  return step.gradients_;
}

int& devices_made() {
  static int count = 0;
  return count;
}

// What three updates of an engine tell, each of the same batch.
std::vector<detail::StepNumbers> three_updates(const EngineSetup& setup, const TrainingTask& task) {
  const auto engine = detail::torch_library().make_engine(setup);
  engine->write(detail::EngineArray::kParameters,
                detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format)));
  detail::AdamWStep update;
  update.rate = 0.02;
  for (update.update = 1; update.update <= 3; ++update.update) {
    engine->step(step_data(setup, task, true), update);
  }
  return engine->read_steps();
}

// Launches of a step of the SRAVEN study.
int sraven_launches(const std::string& attention) {
  detail::PlannedDevice device;
  const FusedStep step = sraven_step(attention, &device);
  INFO(step.table());
  CHECK(step.cost().flops > 9e9);
  CHECK(step.cost().flops < 2e10);
  return step.cost().launches;
}

}  // namespace

TEST_CASE("A hand-written step has the gradients of the CPU's: every variant", "[torch]") {
  for (const std::string& name : attention_variant_names()) {
    INFO(name);
    check_gradients(model_of(name), PatternTask(5, 2, true));
  }
}

TEST_CASE("A hand-written step has the gradients of the CPU's: other networks and tasks",
          "[torch]") {
  TransformerOptions model = model_of("hyla");
  model.causal = true;
  model.position_buckets = 3;
  model.norm = Norm::kRmsNorm;
  check_gradients(model, CountingTask(6, true));
  model.positions = Positions::kRotary;
  model.position_buckets = 0;
  model.feed_forward = FeedForward::kSwiglu;
  check_gradients(model, CountingTask(6, false), false);
  model = model_of("softmax");
  model.positions = Positions::kNone;
  check_gradients(model, CountingTask(5, true), false);
}

TEST_CASE("A hand-written step has the gradients of the CPU's: encoder and decoder", "[torch]") {
  for (const auto positions : {Positions::kRelative, Positions::kRotary, Positions::kNone}) {
    TransformerOptions model = model_of(positions == Positions::kNone ? "softmax" : "hyla");
    model.positions = positions;
    model.encoder_layers = 2;
    model.causal = positions == Positions::kRotary;
    check_gradients(model, PatternTask(7, 3), true, {}, 5e-4);
  }
}

TEST_CASE("A hand-written step has the gradients of the CPU's: mixtures of experts", "[torch]") {
  TransformerOptions model = model_of("hyla");
  model.feed_forward = FeedForward::kMixture;
  model.experts = 5;
  model.load_balancing = 0.3;
  check_gradients(model, PatternTask(5, 2));
  model.active_experts = 0;
  model.encoder_layers = 1;
  model.layers = 1;
  check_gradients(model, PatternTask(6, 3), true, {}, 5e-4);
}

TEST_CASE("A hand-written step has the gradients of the CPU's: linear-value networks", "[torch]") {
  for (const Index layers : {1, 3}) {
    check_gradients(linear_value_model(layers), CountingTask(5, false), false);
  }
}

TEST_CASE("A hand-written step whose keys lie over several blocks has the same gradients",
          "[torch]") {
  GpuDevice small;
  small.block_shared_bytes = 2200;
  const TransformerOptions model = model_of("softmax_hyla");
  const PatternTask task(9, 2, true);
  const auto attention =
      detail::plan_step_attention(engine_setup(model, task, false), {kEngineExamples, true, true},
                                  {"", 0, 9, 9, 0, 0, false}, small);
  REQUIRE(attention.has_value());
  CHECK(attention->plan.backward.key_slices > 1);
  check_gradients(model, task, true, small);
}

TEST_CASE("A hand-written step with attention kernels made for its shape has the same gradients",
          "[torch]") {
  GpuDevice by_shape;
  by_shape.kernels_by_shape = true;
  for (const char* name : {"softmax", "hyla", "linear_rms_head"}) {
    INFO(name);
    const TransformerOptions model = model_of(name);
    const PatternTask task(5, 2, true);
    const auto attention =
        detail::plan_step_attention(engine_setup(model, task, false), {kEngineExamples, true, true},
                                    {"", 0, 5, 5, 0, 0, false}, by_shape);
    REQUIRE(attention.has_value());
    CHECK(attention->plan.kernel == GpuAttentionKernel::kNarrow);
    check_gradients(model, task, true, by_shape);
  }
}

namespace {

void check_updates(const TransformerOptions& model, const TrainingTask& task, bool dropout) {
  const EngineSetup setup = engine_setup(model, task, false);
  const detail::StepData data = step_data(setup, task, dropout);
  detail::AdamWStep update;
  update.rate = 0.01;
  update.decay = 0.1;
  update.most_norm = 0.5;
  const auto engine = detail::torch_library().make_engine(setup);
  EmulatedStep emulated(setup, {data}, update);
  std::vector<float> values =
      detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format));
  engine->write(detail::EngineArray::kParameters, values);
  emulated.write(values, &emulated.values_);
  for (update.update = 1; update.update <= 3; ++update.update) {
    engine->step(data, update);
    emulated.run({update});
  }
  const std::vector<detail::StepNumbers> steps = engine->read_steps();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(std::abs(emulated.history_[2 * i] - steps[i].loss) < 1e-5 * steps[i].loss);
    CHECK(std::abs(emulated.history_[2 * i + 1] - steps[i].gradient_norm) <
          1e-4 * steps[i].gradient_norm);
  }
  CHECK(steps[0].gradient_norm > update.most_norm);
  CHECK(emulated.history_[4] < emulated.history_[0]);
  engine->read(detail::EngineArray::kParameters, values);
  CHECK(relative_to(emulated.read(emulated.values_), values, 0.0) < 1e-4);
  engine->read(detail::EngineArray::kSecondMoments, values);
  CHECK(relative_to(emulated.read(emulated.second_), values, 0.0) < 1e-4);
}

}  // namespace

TEST_CASE("A hand-written step updates as the CPU's does", "[torch]") {
  check_updates(model_of("hyla"), PatternTask(5, 2), true);
  check_updates(linear_value_model(2), CountingTask(5, false), false);
}

TEST_CASE("The engine on a hand-written step gives what it gives on the CPU", "[torch]") {
  for (const bool ids : {false, true}) {
    TransformerOptions model = model_of("hyla");
    model.causal = true;
    const CountingTask task(6, ids);
    EngineSetup setup = engine_setup(model, task, false);
    const EngineAnswer cpu = engine_answer(setup, task);
    setup.eager = true;
    setup.make_step_device = [](void*) -> std::unique_ptr<detail::StepDevice> {
      ++devices_made();
      return std::make_unique<EmulatedStepDevice>();
    };
    devices_made() = 0;
    check_same_answer(engine_answer(setup, task), cpu, 1e-5);
    CHECK(devices_made() == 1);

    const std::vector<detail::StepNumbers> wanted =
        three_updates(engine_setup(model, task, false), task);
    const std::vector<detail::StepNumbers> numbers = three_updates(setup, task);
    REQUIRE(numbers.size() == 3);
    CHECK(wanted[2].loss < wanted[0].loss);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(std::abs(numbers[i].loss - wanted[i].loss) < 1e-4 * wanted[i].loss);
    }
  }
}

TEST_CASE("A hand-written step in TF32 has rounded gradients", "[torch]") {
  const PatternTask task(5, 2);
  EngineSetup setup = engine_setup(model_of("hyla"), task, true);
  const EngineAnswer exact = engine_answer(setup, task);
  setup.precision = Precision::kTf32;
  setup.make_step_device = [](void*) -> std::unique_ptr<detail::StepDevice> {
    return std::make_unique<EmulatedStepDevice>();
  };
  const EngineAnswer rounded = engine_answer(setup, task);
  check_same_gradients(rounded.gradients, exact.gradients, 2e-2);
  CHECK(relative_to(rounded.gradients[0].values, exact.gradients[0].values, 0.0) > 1e-5);
}

TEST_CASE("The hand-written step does not serve targets that have weights") {
  const PatternTask task(5, 2);
  EngineSetup setup = engine_setup(model_of("softmax"), task, true);
  setup.format.weighted = true;
  CHECK(FusedStep::obstacle(setup, {kEngineExamples, false, false}, {}) == "targets have weights");
}

TEST_CASE("The engine leaves what a hand-written step does not serve to LibTorch", "[torch]") {
  TransformerOptions model = model_of("softmax");
  model.encoder_layers = 1;
  const PatternTask task(5, 2, true);
  EngineSetup setup = engine_setup(model, task, true);
  const EngineAnswer eager = engine_answer(setup, task);
  setup.make_step_device = [](void*) -> std::unique_ptr<detail::StepDevice> {
    return std::make_unique<EmulatedStepDevice>();
  };
  CHECK_FALSE(FusedStep::obstacle(setup, {kEngineExamples, true, true}, {}).empty());
  const EngineAnswer answer = engine_answer(setup, task);
  CHECK(answer.outputs == eager.outputs);
  check_same_gradients(answer.gradients, eager.gradients, 1e-6);
}

TEST_CASE("A hand-written step changes nothing once a number was not finite") {
  const PatternTask task(5, 2);
  const EngineSetup setup = engine_setup(model_of("hyla"), task, false);
  detail::AdamWStep update;
  update.rate = 0.01;
  EmulatedStep emulated(setup, {step_data(setup, task, false)}, update);
  emulated.write(detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format)),
                 &emulated.values_);
  emulated.run({update});
  const std::vector<float> before = emulated.values_;
  const float number = std::exchange(emulated.batch_.inputs[0], INFINITY);
  emulated.run({update});
  CHECK_FALSE(std::isfinite(emulated.history_[3]));
  emulated.batch_.inputs[0] = number;
  emulated.run({update});
  CHECK(std::isfinite(emulated.history_[5]));
  CHECK(emulated.values_ == before);
  emulated.places_ = {0};  // the numbers have been read
  emulated.run({update});
  CHECK(emulated.values_ != before);
}

TEST_CASE("A hand-written step is the same where a library leaves ends of products out") {
  using LeftOut = EmulatedStepDevice::LeftOut;
  const PatternTask task(5, 2, true);
  for (const Index width : {12, 11}) {  // four divides a hidden layer's numbers, or not
    TransformerOptions model = model_of("hyla");
    model.mlp_dim = width;
    for (const auto precision : {Precision::kFloat32, Precision::kBfloat16}) {
      EngineSetup setup = engine_setup(model, task, false);
      setup.precision = precision;
      const detail::StepData data = step_data(setup, task, true);
      std::array<int, 3> launches = {};
      const auto whole = gradients_of(setup, data, LeftOut::kNothing, &launches[0]);
      const auto ends = gradients_of(setup, data, LeftOut::kEnd, &launches[1]);
      const auto biases = gradients_of(setup, data, LeftOut::kEndAndBias, &launches[2]);
      const double most = precision == Precision::kFloat32 ? 1e-6 : 5e-2;
      CHECK(relative_to(ends, whole, 0.0) < most);
      CHECK(relative_to(biases, whole, 0.0) < most);
      CHECK(launches[1] == launches[0] + static_cast<int>(2 * model.layers));
      CHECK(launches[2] > launches[1]);
    }
  }
}

TEST_CASE("A hand-written step with the network of the SRAVEN study has at most 100 launches") {
  CHECK(sraven_launches("hyla") <= 100);
  CHECK(sraven_launches("softmax") <= 100);
}

TEST_CASE("What only the sum of all gradients reads may run aside") {
  // Of each layer four matrices, without the embedding; biases and positions, each in two parts.
  detail::PlannedDevice device;
  const FusedStep step = sraven_step("hyla", &device);
  CHECK(std::count_if(step.launches().begin(), step.launches().end(),
                      [](const auto& launch) { return launch.aside; }) == 4 * 4 + 1 + 2 + 4);
}
