// The fused blocks against LibTorch's own operations: the same model, examples and weights give the
// same outputs and gradients, whatever the options.
#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "engine_answers.hpp"
#include "headway/core/rng.hpp"
#include "headway/training/backend.hpp"
#include "headway/training/task_adapters.hpp"
#include "headway/training/trainer.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using headway::Index;

namespace {

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  return relative_to(a, b, 1e-7);
}

// Parameters that differ by a few of their last bits. A sum of up to 64 products in single
// precision is the exact one of factors that are off by up to 64 / 2 of 2^-24.
void jolt(std::vector<NamedTensor>* tensors) {
  headway::Rng rng(10, headway::StreamPurpose::kTests);
  for (NamedTensor& tensor : *tensors) {
    for (float& x : tensor.values) x *= rng.uniform() < 0.5 ? 1.0F - 0x1p-19F : 1.0F + 0x1p-19F;
  }
}

// The first moments of the model after one step from a state.
std::vector<NamedTensor> moments_after(Trainer& trainer, const TrainState& state) {
  trainer.set_state(state);
  static_cast<void>(trainer.step());
  return trainer.state().first_moments;
}

// After one step the first moments are 0.1 times the gradient.
void check_same_gradients(const TransformerOptions& model, const TrainingTask& task) {
  TrainOptions options = small_run();
  options.batch = 6;
  options.schedule = LearningRateSchedule::kConstant;
  options.warmup_steps = 0;
  Trainer fused(model, options, task);
  options.eager = true;
  Trainer eager(model, options, task);
  TrainState state = fused.state();
  shake(&state.parameters);  // biases are not 0, so that their use is seen
  fused.set_state(state);
  eager.set_state(state);
  CHECK(distance(fused.outputs("train", 3, 5), eager.outputs("train", 3, 5)) < 1e-4);
  const StepResult one = fused.step();
  const StepResult two = eager.step();
  CHECK(std::abs(one.loss - two.loss) < 1e-5 * (1 + std::abs(two.loss)));
  const auto ours = fused.state().first_moments;
  const auto theirs = eager.state().first_moments;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    INFO(ours[i].name);
    double size = 0.0;
    for (const float x : theirs[i].values) size = std::max<double>(size, std::abs(x));
    // Keys' biases change nothing where the weights are normalised over keys.
    const double gradient = 0.1 * two.gradient_norm;
    if (size < 1e-5 * gradient) continue;
    const double apart = distance(ours[i].values, theirs[i].values);
    if (apart < 1e-3) continue;
    // Where rounding is magnified, both are as far from the exact gradient as last bits of the
    // parameters move it, in a direction that may be a few times worse than a random one.
    TrainState jolted = state;
    jolt(&jolted.parameters);
    const auto moved = moments_after(eager, jolted);
    CHECK(apart < std::min(1e-2, 4.0 * distance(moved[i].values, theirs[i].values)));
  }
}

}  // namespace

TEST_CASE("Fused and eager models agree for every attention variant", "[torch]") {
  const PatternTask task(7, 3);
  for (const std::string& name : attention_variant_names()) {
    for (const bool causal : {false, true}) {
      INFO(name << (causal ? ", causal" : ""));
      TransformerOptions model = small_model();
      model.attention = name;
      model.causal = causal;
      model.attention_dropout = 0.3;
      check_same_gradients(model, task);
    }
  }
}

TEST_CASE("Fused and eager models with an encoder agree for every attention variant", "[torch]") {
  for (const std::string& name : attention_variant_names()) {
    for (const auto positions : {Positions::kRelative, Positions::kRotary, Positions::kNone}) {
      INFO(name << ", " << headway::word_of(positions));
      TransformerOptions model = small_model();
      model.attention = name;
      model.encoder_layers = 1;
      model.positions = positions;
      model.causal = positions == Positions::kRotary;
      model.norm = positions == Positions::kNone ? Norm::kRmsNorm : Norm::kLayerNorm;
      model.attention_dropout = 0.3;
      check_same_gradients(model, PatternTask(7, 3));
      check_same_gradients(model, PatternTask(8, 2, true));
    }
  }
}

TEST_CASE("Fused and eager models agree for every other option", "[torch]") {
  for_each_option(small_model(), [](TransformerOptions model) {
    model.experts = 3;
    model.load_balancing = model.positions == Positions::kRotary ? 0.5 : 0.0;
    model.active_experts = model.norm == Norm::kRmsNorm ? 0 : 2;
    check_same_gradients(model, PatternTask(6, 2));
    check_same_gradients(model, *make_byte_text_task(pangram(40), text_options(5)));
  });
}

TEST_CASE("Fused and eager models agree on masked examples, for every nonlinearity", "[torch]") {
  for (const std::string& name : nonlinearity_names()) {
    INFO(name);
    TransformerOptions model = small_model();
    model.attention = "hyla_deep";
    model.nonlinearity = name;
    check_same_gradients(model, PatternTask(6, 2, true));
  }
}
