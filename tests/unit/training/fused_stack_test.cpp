// A stack of runs in one hand-written step, on the emulator: each has the bits that it has alone,
// whatever stands beside it, and whenever the operations run that may run aside. The longest two
// are not for sanitizers, since the emulator checks every access itself.
#include <cmath>
#include <string>
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

constexpr int kUpdates = 3;

/// What decides a run of a stack.
struct Run {
  std::uint64_t seed = 0;
  double rate = 0.01;
  bool diverges = false;  ///< an example of its second update is infinite
};

/// What a run has become.
struct Trained {
  std::vector<float> values, first, second;
  std::vector<double> history;
};

detail::StepData data_of(const EngineSetup& setup, const TrainingTask& task, const Run& run) {
  detail::StepData data;
  task.batch("train", static_cast<Index>(10 * run.seed), kEngineExamples,
             data.pieces.emplace_back());
  headway::Rng rng(run.seed, headway::StreamPurpose::kTests);
  const Index count = setup.model.all_layers() * setup.format.tokens * setup.format.tokens;
  const bool drops = setup.model.network == NetworkKind::kTransformer;
  for (Index i = 0; drops && i < count; ++i)
    data.dropout.push_back(rng.uniform() < 0.3 ? 0.0F : 1.25F);
  return data;
}

// Where a run's examples or its embedding have their first number.
float& first_number(EmulatedStep& stack, std::size_t run) {
  if (stack.batch_.inputs.empty()) return stack.values_[run * stack.step_size_];
  return stack.batch_.inputs[run * (stack.batch_.inputs.size() / stack.places_.size())];
}

// Three updates of the runs in one stack, each on the same batch; the second of a run that diverges
// has an infinite number. `aside_last`: what may run aside runs as late as it may.
std::vector<Trained> train(const EngineSetup& setup, const TrainingTask& task,
                           const std::vector<Run>& runs, const GpuDevice& device,
                           bool aside_last = false) {
  std::vector<detail::StepData> data;
  detail::AdamWStep constants;
  constants.most_norm = 0.5;
  constants.decay = 0.1;
  for (const Run& run : runs) data.push_back(data_of(setup, task, run));
  EmulatedStep stack(setup, data, constants, device);
  if (aside_last) stack.device_.keep_aside();
  for (std::size_t r = 0; r < runs.size(); ++r) {
    auto parameters = detail::initial_parameters(setup.shapes, runs[r].seed);
    shake(&parameters);
    stack.write(detail::join_tensors(setup.shapes, parameters), &stack.values_, r);
  }
  for (int update = 1; update <= kUpdates; ++update) {
    std::vector<std::optional<detail::AdamWStep>> updates;
    std::vector<float> numbers;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      constants.update = update;
      constants.rate = runs[r].rate;
      updates.emplace_back(constants);
      float& number = first_number(stack, r);
      numbers.push_back(number);
      if (runs[r].diverges && update == 2) number = INFINITY;
    }
    stack.run(updates);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      if (runs[r].diverges && update == 2) first_number(stack, r) = numbers[r];
    }
  }
  std::vector<Trained> all;
  const std::size_t places = stack.history_.size() / runs.size();
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const auto from = stack.history_.begin() + static_cast<Index>(r * places);
    all.push_back({stack.read(stack.values_, r),
                   stack.read(stack.first_, r),
                   stack.read(stack.second_, r),
                   {from, from + 2 * kUpdates}});
  }
  return all;
}

void check_same(const Trained& a, const Trained& b) {
  CHECK(a.values == b.values);
  CHECK(a.first == b.first);
  CHECK(a.second == b.second);
  CHECK(a.history == b.history);
}

// A run alone, beside one other, and between two others in another order, of which one diverges.
void check_stacks(const TransformerOptions& model, const TrainingTask& task,
                  const GpuDevice& device = {}, Precision precision = Precision::kFloat32) {
  EngineSetup setup = engine_setup(model, task, false);
  setup.precision = precision;
  const Run a{1, 0.01, false};
  const Run b{2, 0.03, false};
  const Run wrong{3, 0.02, true};
  const std::vector<Trained> alone = {train(setup, task, {a}, device)[0],
                                      train(setup, task, {b}, device)[0]};
  CHECK(alone[0].values != alone[1].values);
  CHECK(alone[0].history[4] != alone[1].history[4]);
  // In the list's order what runs aside is as early as it may be. So the same bits say that no
  // operation in between reads what it writes, or writes what it reads.
  check_same(train(setup, task, {a}, device, true)[0], alone[0]);
  const std::vector<Trained> two = train(setup, task, {a, b}, device);
  check_same(two[0], alone[0]);
  check_same(two[1], alone[1]);
  const std::vector<Trained> three = train(setup, task, {b, wrong, a}, device);
  check_same(three[0], alone[1]);
  check_same(three[2], alone[0]);
  CHECK_FALSE(std::isfinite(three[1].history[3]));
  for (const float x : three[1].values) REQUIRE(std::isfinite(x));
}

// Of a step of runs of the SRAVEN study.
detail::StepCost stack_cost(Index runs, Precision precision = Precision::kFloat32) {
  detail::PlannedDevice device;
  return sraven_step("hyla", &device, precision, runs).cost();
}

}  // namespace

TEST_CASE("A run has the same bits in any stack: masks, relative positions, mixing matrices") {
  const PatternTask task(5, 2, true);
  for (const char* attention : {"softmax_hyla", "hyla_deep"}) {
    INFO(attention);
    check_stacks(model_of(attention), task);
  }
}

TEST_CASE("A run has the same bits in any stack: ids, numbers, rotary positions, swiglu") {
  TransformerOptions model = model_of("softmax");
  model.causal = true;
  model.norm = Norm::kRmsNorm;
  check_stacks(model, CountingTask(6, true));
  model.positions = Positions::kRotary;
  model.feed_forward = FeedForward::kSwiglu;
  model.attention = "hyla";
  check_stacks(model, CountingTask(6, false));
}

TEST_CASE("A run has the same bits in any stack: encoder and decoder") {
  TransformerOptions model = model_of("hyla");
  model.encoder_layers = 1;
  model.layers = 1;
  check_stacks(model, PatternTask(6, 3));
}

TEST_CASE("A run has the same bits in any stack: attention kernels made for narrow layers") {
  GpuDevice device;
  device.kernels_by_shape = true;
  const PatternTask task(5, 2, true);
  for (const char* attention : {"softmax", "hyla", "linear_rms_head"}) {
    INFO(attention);
    const auto part = detail::plan_step_attention(engine_setup(model_of(attention), task, false),
                                                  {kEngineExamples, true, true, 3},
                                                  {"", 0, 5, 5, 0, 0, false}, device);
    REQUIRE(part.has_value());
    CHECK(part->plan.kernel == GpuAttentionKernel::kNarrow);
    check_stacks(model_of(attention), task, device);
  }
}

TEST_CASE("A run has the same bits in any stack: mixtures of experts", "[not_sanitized]") {
  TransformerOptions model = model_of("softmax");
  model.feed_forward = FeedForward::kMixture;
  model.experts = 3;
  model.load_balancing = 0.1;
  model.layers = 1;
  check_stacks(model, PatternTask(4, 2));
  check_stacks(model, PatternTask(44, 44));  // two copies of the gradients of experts
}

TEST_CASE("A run has the same bits in any stack: linear-value networks") {
  TransformerOptions model;
  model.network = NetworkKind::kLinearValue;
  model.layers = 2;
  model.heads = 2;
  model.model_dim = 4;
  model.query_dim = 6;
  check_stacks(model, CountingTask(5, false));
}

TEST_CASE("A run has the same bits in any stack: bf16", "[not_sanitized]") {
  const PatternTask task(5, 2, true);
  check_stacks(model_of("softmax_hyla"), task, {}, Precision::kBfloat16);
  GpuDevice by_shape;
  by_shape.kernels_by_shape = true;
  check_stacks(model_of("hyla"), task, by_shape, Precision::kBfloat16);
  TransformerOptions large = model_of("softmax_hyla");  // of attention
  large.layers = 1;
  large.heads = 8;
  large.query_dim = 8 * 16;
  large.value_dim = 8 * 32;
  check_stacks(large, task, by_shape, Precision::kBfloat16);
  TransformerOptions model = model_of("softmax");
  model.layers = model.encoder_layers = 1;
  model.positions = Positions::kRotary;
  model.feed_forward = FeedForward::kMixture;
  model.experts = 3;
  check_stacks(model, PatternTask(6, 3), {}, Precision::kBfloat16);
  model = {};
  model.network = NetworkKind::kLinearValue;
  model.layers = 2;
  model.heads = 2;
  model.model_dim = 4;
  model.query_dim = 6;
  check_stacks(model, CountingTask(5, false), {}, Precision::kBfloat16);
}

TEST_CASE("A run of a stack that makes no update keeps what it has") {
  const PatternTask task(5, 2);
  const EngineSetup setup = engine_setup(model_of("hyla"), task, false);
  EmulatedStep stack(setup, {data_of(setup, task, {1}), data_of(setup, task, {2})});
  const auto parameters = detail::initial_parameters(setup.shapes, 1);
  for (const std::size_t r : {0, 1}) {
    stack.write(detail::join_tensors(setup.shapes, parameters), &stack.values_, r);
  }
  const std::vector<float> before = stack.read(stack.values_, 1);
  detail::AdamWStep update;
  update.rate = 0.01;
  stack.run({update, std::nullopt});
  CHECK(stack.read(stack.values_, 0) != before);
  CHECK(stack.read(stack.values_, 1) == before);
  CHECK(stack.read(stack.first_, 1) == std::vector<float>(before.size(), 0.0F));
  CHECK(stack.history_[0] > 0.0);
  CHECK(stack.history_[2 * detail::kMostStepsAhead] == 0.0);
}

TEST_CASE("A stack has as many launches as one of its runs") {
  for (const auto precision : {Precision::kFloat32, Precision::kBfloat16}) {
    const detail::StepCost one = stack_cost(1, precision);
    const detail::StepCost sixteen = stack_cost(16, precision);
    CHECK(one.launches <= 100);
    CHECK(sixteen.launches == one.launches);
    CHECK(sixteen.flops == 16.0 * one.flops);
    CHECK(std::abs(sixteen.bytes - 16.0 * one.bytes) < 1e-9 * sixteen.bytes);
  }
}
