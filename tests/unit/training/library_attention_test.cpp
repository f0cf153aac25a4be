// LibTorch's own fused attention in the place of ours, for layers of plain softmax: which layers it
// takes, and that it is the same attention, among LibTorch's operations and in a hand-written step.
#include "training/model/library_attention.hpp"

#include <chrono>
#include <memory>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "emulated_kernels.hpp"
#include "emulated_step.hpp"
#include "engine_answers.hpp"
#include "headway/core/jobs.hpp"
#include "training/step/stack_meeting.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using detail::EngineSetup;
using detail::LibraryAttentionUse;
using headway::Index;

namespace {

// How many launches of attention, forward and backward, came to the device of a step.
int& attentions() {
  static int count = 0;
  return count;
}

// The emulator, which counts them.
class CountingDevice final : public detail::StepDevice {
 public:
  GpuDevice sizes() const override { return device_->sizes(); }
  void run(const detail::StepOperation& operation) override {
    attentions() += std::holds_alternative<detail::StepAttention>(operation) ? 1 : 0;
    attentions() += std::holds_alternative<detail::StepAttentionGradient>(operation) ? 1 : 0;
    device_->run(operation);
  }
  void adopt(const char* name, const void* data, Index count, std::size_t size) override {
    device_->adopt(name, data, count, size);
  }
  void was_written(const void* data) override { device_->was_written(data); }
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override {
    return device_->allocate(name, count, size, numbers);
  }

 private:
  std::unique_ptr<detail::StepDevice> device_ = std::make_unique<EmulatedStepDevice>();
};

// Softmax without relative positions, and without what LibTorch's attention lacks.
TransformerOptions plain_softmax(bool causal) {
  TransformerOptions model = small_model();
  model.attention = "softmax";
  model.positions = Positions::kRotary;
  model.causal = causal;
  model.attention_dropout = 0.0;
  return model;
}

// As engine_answer(), with dropout where the model has it. `by_hand`: the gradient is that of a
// hand-written step.
EngineAnswer answer(EngineSetup setup, const TrainingTask& task, LibraryAttentionUse use,
                    bool by_hand) {
  setup.library_attention = use;
  if (by_hand) {
    setup.make_step_device = [](void*) -> std::unique_ptr<detail::StepDevice> {
      return std::make_unique<CountingDevice>();
    };
  } else {
    setup.gpu_kernels = &kEmulatedKernels;
  }
  emulated_calls() = {};
  attentions() = 0;
  const auto engine = detail::torch_library().make_engine(setup);
  std::vector<float> flat =
      detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format));
  engine->write(detail::EngineArray::kParameters, flat);
  detail::StepData data;
  task.batch("train", 4, kEngineExamples, data.pieces.emplace_back());
  if (setup.model.attention_dropout > 0.0) {
    data.dropout = dropout_of(setup.model, setup.format.tokens);
  }
  engine->compute_gradients(data);
  engine->read(detail::EngineArray::kGradients, flat);
  return {engine->outputs(data.pieces[0], setup.format.scored),
          detail::split_tensors(setup.shapes, flat)};
}

GpuAttentionLayer large_layer() {
  GpuAttentionLayer layer;
  layer.shape = {8, 8, 1024, 1024, 64, 64};
  layer.options.causal = true;
  layer.arithmetic = GpuArithmetic::kBf16;
  return layer;
}

}  // namespace

TEST_CASE("LibTorch's attention takes large layers of plain softmax in bf16") {
  GpuDevice by_shape;
  by_shape.kernels_by_shape = true;
  const auto takes = [&](const GpuAttentionLayer& layer, const detail::AttentionExtras& extras) {
    return detail::library_attention_takes(LibraryAttentionUse::kByShape, layer, extras, by_shape);
  };
  const GpuAttentionLayer layer = large_layer();
  CHECK(takes(layer, {}));
  CHECK_FALSE(detail::library_attention_takes(LibraryAttentionUse::kByShape, layer, {}, {}));
  CHECK_FALSE(takes(layer, {true, false, false}));
  CHECK_FALSE(takes(layer, {false, true, false}));
  CHECK_FALSE(takes(layer, {false, false, true}));

  GpuAttentionLayer other = layer;
  other.arithmetic = GpuArithmetic::kTf32;
  CHECK_FALSE(takes(other, {}));
  other = layer;
  other.shape.queries = other.shape.keys = 64;
  CHECK_FALSE(takes(other, {}));
  other = layer;
  other.shape.query_dim = 12;
  CHECK_FALSE(takes(other, {}));
  other = layer;
  other.shape.value_dim = 256;
  CHECK_FALSE(takes(other, {}));
  other = layer;
  other.shape.queries = 512;  // the diagonal begins elsewhere
  CHECK_FALSE(takes(other, {}));
  other.options.causal = false;
  CHECK(takes(other, {}));
}

TEST_CASE("LibTorch's attention takes no other variant") {
  for (const std::string& name : attention_variant_names()) {
    INFO(name);
    GpuAttentionLayer layer = large_layer();
    TransformerOptions model;
    model.attention = name;
    layer.options = model.attention_options();
    CHECK(detail::library_attention_takes(LibraryAttentionUse::kWhereItCan, layer, {}, {}) ==
          (name == "softmax"));
  }
}

TEST_CASE("LibTorch's attention is that of its operations and of the hand-written step",
          "[torch]") {
  for (const bool causal : {false, true}) {
    for (const bool by_hand : {false, true}) {
      INFO((causal ? "causal" : "every pair") << (by_hand ? ", by hand" : ""));
      const CountingTask task(7, causal);  // every token is scored where it is causal
      const EngineSetup setup = engine_setup(plain_softmax(causal), task, true);
      const EngineAnswer ours = answer(setup, task, LibraryAttentionUse::kByShape, by_hand);
      CHECK(attentions() == (by_hand ? 4 : 0));  // two layers
      CHECK(emulated_calls().backward == (by_hand ? 0 : 2));
      const EngineAnswer theirs = answer(setup, task, LibraryAttentionUse::kWhereItCan, by_hand);
      CHECK(attentions() == 0);
      CHECK(emulated_calls().forward + emulated_calls().backward == 0);
      check_same_answer(theirs, ours, 1e-5);
    }
  }
}

TEST_CASE("LibTorch's attention reads and writes the rounded arrays of a hand-written step in bf16",
          "[torch]") {
  const CountingTask task(7, true);
  EngineSetup setup = engine_setup(plain_softmax(true), task, true);
  setup.precision = Precision::kBfloat16;
  const EngineAnswer ours = answer(setup, task, LibraryAttentionUse::kByShape, true);
  CHECK(attentions() == 4);
  const EngineAnswer theirs = answer(setup, task, LibraryAttentionUse::kWhereItCan, true);
  CHECK(attentions() == 0);
  check_same_answer(theirs, ours, 0.01);  // both round: the largest of bf16's steps is 2^-8
}

TEST_CASE("LibTorch's attention takes cross-attention, too", "[torch]") {
  TransformerOptions model = plain_softmax(false);
  model.encoder_layers = 1;
  const PatternTask task(8, 3);
  const EngineSetup setup = engine_setup(model, task, true);
  const EngineAnswer ours = answer(setup, task, LibraryAttentionUse::kByShape, true);
  CHECK(attentions() == 10);
  const EngineAnswer theirs = answer(setup, task, LibraryAttentionUse::kWhereItCan, true);
  CHECK(attentions() == 0);
  check_same_answer(theirs, ours, 1e-5);
}

TEST_CASE("Layers with positions, masks or dropout stay with our kernels", "[torch]") {
  const PatternTask task(7, 3);
  const PatternTask masked(7, 3, true);
  TransformerOptions relative = plain_softmax(false);
  relative.positions = Positions::kRelative;
  TransformerOptions dropping = plain_softmax(false);
  dropping.attention_dropout = 0.3;
  const std::tuple<const char*, TransformerOptions, const PatternTask*> kept[] = {
      {"masks", plain_softmax(false), &masked},
      {"positions", relative, &task},
      {"dropout", dropping, &task}};
  for (const auto& [name, model, of] : kept) {
    for (const bool by_hand : {false, true}) {
      INFO(name << (by_hand ? ", by hand" : ""));
      answer(engine_setup(model, *of, true), *of, LibraryAttentionUse::kWhereItCan, by_hand);
      CHECK(emulated_calls().backward + attentions() / 2 == 2);
    }
  }
}

TEST_CASE("LibTorch's attention serves the runs of a stack as it serves each alone", "[torch]") {
  const PatternTask task(7, 3);
  EngineSetup setup = engine_setup(plain_softmax(false), task, true);
  setup.library_attention = LibraryAttentionUse::kWhereItCan;
  setup.make_step_device = [](void*) -> std::unique_ptr<detail::StepDevice> {
    return std::make_unique<CountingDevice>();
  };
  // The first moments of each run after an update. Runs have other examples and other weights.
  const auto moments = [&](Index first, Index runs) {
    detail::StackShape shape;
    shape.batch = {kEngineExamples, false, false, runs};
    shape.evaluated = kEngineExamples;
    shape.meeting = std::make_shared<detail::StackMeeting>(runs);
    const auto stack = detail::torch_library().make_stack(setup, shape);
    REQUIRE(stack != nullptr);
    std::vector<std::vector<float>> all(static_cast<std::size_t>(runs));
    headway::run_jobs(all.size(), all.size(), [&](std::size_t i) {
      const auto run = static_cast<Index>(i);
      shape.meeting->enter(run, std::chrono::seconds(60));
      const auto engine = stack->engine(run);
      std::vector<float> flat =
          detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format));
      for (float& x : flat) x *= 1.0F + 0.1F * static_cast<float>(first + run);
      engine->write(detail::EngineArray::kParameters, flat);
      detail::StepData data;
      task.batch("train", 10 * (first + run), kEngineExamples, data.pieces.emplace_back());
      detail::AdamWStep update;
      update.rate = 0.01;
      update.update = 1;
      engine->step(data, update);
      static_cast<void>(engine->read_steps());
      engine->read(detail::EngineArray::kFirstMoments, flat);
      all[i] = flat;
      shape.meeting->leave(run);
    });
    return all;
  };
  attentions() = 0;
  const auto three = moments(0, 3);
  CHECK(attentions() == 0);
  for (Index run = 0; run < 3; ++run) {
    const auto at = static_cast<std::size_t>(run);
    CHECK(relative_to(three[at], moments(run, 1)[0], 0.0) < 1e-6);
    CHECK(relative_to(three[at], three[(at + 1) % 3], 0.0) > 0.1);
  }
}
