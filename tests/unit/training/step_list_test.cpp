// The list of launches of a hand-written step: its text, its names, where parameters lie, and the
// arrays that it takes. And what it does not serve.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "catch.hpp"
#include "emulated_step.hpp"
#include "engine_answers.hpp"
#include "step_networks.hpp"
#include "training/step/step_builder.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using detail::EngineSetup;
using detail::FusedStep;
using detail::PlannedDevice;
using headway::Index;

namespace {

std::vector<TransformerOptions> networks() {
  std::vector<TransformerOptions> all = {model_of("softmax"), model_of("hyla_deep")};
  all[1].positions = Positions::kRotary;
  all[1].feed_forward = FeedForward::kSwiglu;
  TransformerOptions mixture = model_of("hyla");
  mixture.feed_forward = FeedForward::kMixture;
  mixture.experts = 3;
  mixture.load_balancing = 0.1;
  all.push_back(mixture);
  TransformerOptions decoder = model_of("softmax_hyla");
  decoder.encoder_layers = 2;
  all.push_back(decoder);
  all.push_back(linear_value_model(3));
  return all;
}

EngineSetup setup_of(const TransformerOptions& model, Precision precision) {
  EngineSetup setup = model.network == NetworkKind::kLinearValue
                          ? engine_setup(model, CountingTask(5, false), false)
                          : engine_setup(model, PatternTask(6, 3), false);
  setup.precision = precision;
  return setup;
}

std::string obstacle(const TransformerOptions& model, const TrainingTask& task,
                     const detail::StepBatchShape& batch, const GpuDevice& device = {}) {
  return FusedStep::obstacle(engine_setup(model, task, false), batch, device);
}

}  // namespace

TEST_CASE("The table of a step has a line for each launch, and one of all") {
  PlannedDevice device;
  const FusedStep step = sraven_step("hyla", &device);
  std::string wanted = "launch" + std::string(42, ' ') + " launches" + std::string(10, ' ') + "MB" +
                       std::string(7, ' ') + "Mflop\n";
  const auto add = [&](const std::string& name, const detail::StepCost& c) {
    const auto right = [](const std::string& text, std::size_t width) {
      return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
    };
    wanted += name + std::string(48 - std::min<std::size_t>(48, name.size()), ' ') +
              right(std::to_string(c.launches), 9) +
              right(fmt::format("{:.3f}", c.bytes * 1e-6), 12) +
              right(fmt::format("{:.2f}", c.flops * 1e-6), 12) + "\n";
  };
  detail::StepCost all = {0.0, 0.0, 0};
  for (const detail::StepLaunch& launch : step.launches()) {
    const detail::StepCost one = detail::cost_of(launch.operation);
    add(launch.name, one);
    all.flops += one.flops;
    all.bytes += one.bytes;
    all.launches += one.launches;
  }
  add("all", all);
  CHECK(step.table() == wanted);
  CHECK(step.cost().flops == all.flops);
  CHECK(step.cost().bytes == all.bytes);
  CHECK(step.cost().launches == all.launches);
}

TEST_CASE("Launches of a step have names of their own, of their layer where they have one") {
  for (const TransformerOptions& model : networks()) {
    for (const auto precision : {Precision::kFloat32, Precision::kBfloat16}) {
      const EngineSetup setup = setup_of(model, precision);
      PlannedDevice device;
      const FusedStep step(setup, {3, false, false, 1}, {}, {}, &device);
      std::set<std::string> names;
      for (const detail::StepLaunch& launch : step.launches()) {
        INFO(launch.name);
        CHECK_FALSE(launch.name.empty());
        // Sums for biases and positions: those known by the last attention, and the rest.
        const bool again = !names.insert(launch.name).second;
        CHECK((!again || launch.name == "gradients of biases" ||
               launch.name == "gradients of scores" ||
               launch.name.find("positions") != std::string::npos));
      }
      for (Index l = 1; l <= model.layers; ++l) {
        const std::string prefix = fmt::format("layers.{}.", l);
        CHECK(std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return name.find(prefix) != std::string::npos;
        }));
      }
    }
  }
}

TEST_CASE("A step writes to every number of the arrays that it takes") {
  for (const TransformerOptions& model : networks()) {
    const EngineSetup setup = setup_of(model, Precision::kFloat32);
    detail::StepData data;
    if (model.network == NetworkKind::kLinearValue) {
      CountingTask(5, false).batch("train", 0, 3, data.pieces.emplace_back());
    } else {
      PatternTask(6, 3).batch("train", 0, 3, data.pieces.emplace_back());
    }
    for (const std::size_t runs : {1, 2}) {
      INFO(model.attention << ", " << runs << " runs");
      EmulatedStep step(setup, std::vector<detail::StepData>(runs, data));
      for (std::size_t r = 0; r < runs; ++r) {
        step.write(detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format)),
                   &step.values_, r);
      }
      step.run(std::vector<std::optional<detail::AdamWStep>>(runs, detail::AdamWStep{}));
      for (const auto& [name, count] : step.device_.unwritten()) {
        // But for gaps of less than a line of 64 behind the copies of each gradient.
        INFO(name << ": " << count);
        CHECK(name == "copies of gradients");
        CHECK(count < static_cast<Index>(63 * runs * setup.shapes.size()));
      }
    }
  }
}

TEST_CASE("Parameters of a step lie in the order of the model, but weights before biases") {
  const auto weight = [](const char* name, Index count) {
    return detail::ParameterShape{name, {count, 1}};
  };
  // 1 number, then q, k, v of 2, 8, 32 weights and 4, 16, 64 biases, then 128 and 256.
  const std::vector<detail::ParameterShape> shapes = {
      weight("embedding.weight", 1), weight("l.query.weight", 2),    weight("l.query.bias", 4),
      weight("l.key.weight", 8),     weight("l.key.bias", 16),       weight("l.value.weight", 32),
      weight("l.value.bias", 64),    weight("l.output.weight", 128), weight("query.weight", 256),
      weight("key.weight", 512)};  // without biases
  CHECK(detail::step_offsets(shapes) == std::vector<Index>{0, 1, 43, 3, 47, 11, 63, 127, 255, 511});
  CHECK(detail::step_parameters(shapes) == 1024);
  CHECK(detail::step_parameters({weight("a", 64)}) == 64);
  CHECK(detail::step_parameters({weight("a", 65)}) == 128);
}

TEST_CASE("The numbers of an update are those of AdamW's bias correction and decay") {
  detail::AdamWStep step;
  step.update = 3;
  step.rate = 0.25;
  step.decay = 0.125;
  step.beta_1 = 0.5;
  step.beta_2 = 0.75;
  const auto numbers = detail::update_numbers(step, 17);
  CHECK(numbers[0] == static_cast<float>(0.25 / (1.0 - 0.125)));
  CHECK(numbers[1] == static_cast<float>(1.0 / (1.0 - 0.421875)));
  CHECK(numbers[2] == 0.03125F);
  CHECK(numbers[3] == 17.0F);
}

TEST_CASE("What a step does not serve has a reason") {
  const PatternTask task(5, 2, true);
  TransformerOptions model = model_of("softmax");
  CHECK(obstacle(model, task, {3, true, true, 1}).empty());
  model.encoder_layers = 1;
  CHECK(obstacle(model, task, {3, false, true, 1}).empty());
  CHECK(obstacle(model, task, {3, true, true, 1}) == "the network has an encoder, and tokens hide");
  model.encoder_layers = 0;
  constexpr auto kMost = static_cast<Index>(detail::StepPositions::kMostLayers);
  model.layers = kMost;
  CHECK(obstacle(model, task, {3, false, true, 1}).empty());
  model.layers = kMost + 1;
  CHECK(obstacle(model, task, {3, false, true, 1}) ==
        fmt::format("there are more than {} layers of attention", kMost));
  model.layers = 1;
  CHECK(obstacle(model, task, {3, false, true, 1}, {1, 16, 16}) ==
        "no tile of the attention fits the device");
  // Eight bytes for each distance of two tokens.
  GpuDevice small;
  small.block_shared_bytes = 8000;
  model.positions = Positions::kRelative;
  CHECK(obstacle(model, PatternTask(498, 2), {3, false, true, 1}, small).empty());
  CHECK(obstacle(model, PatternTask(600, 2), {3, false, true, 1}, small) ==
        "relative positions of 600 tokens do not fit a block");
  // 3 heads: 2^31 blocks of examples, heads and runs are one too many.
  model.positions = Positions::kNone;
  CHECK(obstacle(model, task, {1 << 10, false, true, (1 << 21) / 3}).empty());
  CHECK(obstacle(model, task, {1 << 10, false, true, (1 << 21) / 3 + 1}) ==
        "the stack has too many runs");

  const CountingTask numbers(5, false);
  TransformerOptions linear = linear_value_model(1);
  CHECK(obstacle(linear, numbers, {3, false, false, 1}).empty());
  CHECK(obstacle(linear, numbers, {3, true, false, 1}) == "tokens hide");
  linear.heads = 1;
  linear.layers = kMost - 2;
  CHECK(obstacle(linear, numbers, {3, false, false, 1}).empty());
  linear.layers = kMost - 1;
  CHECK(obstacle(linear, numbers, {3, false, false, 1}) ==
        fmt::format("there are more than {} layers", kMost - 2));
  PlannedDevice device;
  CHECK_THROWS_WITH(
      FusedStep(engine_setup(linear, numbers, false), {3, false, false, 1}, {}, {}, &device),
      fmt::format("hand-written step: there are more than {} layers", kMost - 2));
  CHECK_THROWS_WITH(device.run(detail::StepLoss{}), "a step is planned, not run");
}
