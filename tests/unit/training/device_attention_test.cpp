// The engine on fused kernels of a GPU, which the emulator stands in for. Where the kernels fit,
// they are called, and give what LibTorch's operations give. Where they do not fit, these
// operations run.
#include "catch.hpp"
#include "emulated_kernels.hpp"
#include "engine_answers.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using detail::EngineSetup;
using headway::Index;

namespace {

EngineSetup on(const detail::GpuAttentionKernels* kernels, EngineSetup setup) {
  setup.gpu_kernels = kernels;
  return setup;
}

// `attentions` of a forward pass; outputs are computed once more, without gradients.
void check_emulated(const TransformerOptions& model, const TrainingTask& task, int attentions) {
  const EngineSetup setup = engine_setup(model, task, true);
  const EngineAnswer eager = engine_answer(setup, task);
  emulated_calls() = {};
  const EngineAnswer fused = engine_answer(on(&kEmulatedKernels, setup), task);
  CHECK(emulated_calls().forward == 2 * attentions);
  CHECK(emulated_calls().backward == attentions);
  check_same_answer(fused, eager, 1e-4);
}

}  // namespace

TEST_CASE("Fused attention of a GPU in the engine is that of LibTorch's operations", "[torch]") {
  for (const std::string& name : attention_variant_names()) {
    for (const bool causal : {false, true}) {
      INFO(name << (causal ? ", causal" : ""));
      TransformerOptions model = small_model();
      model.attention = name;
      model.causal = causal;
      model.position_buckets = causal ? 3 : 0;
      check_emulated(model, PatternTask(7, 3, true), 2);
    }
  }
}

TEST_CASE("Fused attention of a GPU with an encoder is that of LibTorch's operations", "[torch]") {
  for (const auto positions : {Positions::kRelative, Positions::kRotary, Positions::kNone}) {
    TransformerOptions model = small_model();
    model.attention = "hyla";
    model.positions = positions;
    model.encoder_layers = 1;
    check_emulated(model, PatternTask(8, 3, true), 5);
  }
}

TEST_CASE("Attention that fits no tile of a GPU is that of LibTorch's operations", "[torch]") {
  const PatternTask task(7, 3, true);
  const EngineSetup setup = engine_setup(small_model(), task, true);
  emulated_calls() = {};
  const EngineAnswer fallen_back = engine_answer(on(&kTinyKernels, setup), task);
  CHECK(emulated_calls().forward == 0);
  const EngineAnswer eager = engine_answer(setup, task);
  CHECK(fallen_back.outputs == eager.outputs);
  CHECK(fallen_back.gradients == eager.gradients);
}

TEST_CASE("In bf16 fused attention of a GPU gets rounded numbers", "[torch]") {
  const PatternTask task(7, 3, true);
  TransformerOptions model = small_model();
  model.attention = "softmax_hyla";
  model.nonlinearity = "silu";
  EngineSetup setup = engine_setup(model, task, true);
  const EngineAnswer eager = engine_answer(setup, task);
  setup.precision = Precision::kBfloat16;
  emulated_calls() = {};
  const EngineAnswer fused = engine_answer(on(&kEmulatedKernels, setup), task);
  CHECK(emulated_calls().last.arithmetic == GpuArithmetic::kBf16);
  CHECK(relative_to(fused.outputs, eager.outputs, 0.0) > 1e-4);
  check_same_answer(fused, eager, 2e-2);
}
