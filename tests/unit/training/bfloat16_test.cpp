// LibTorch's operations in bf16: products of rounded numbers, and parameters, the stream between
// layers, attention weights, sums over chunks and losses in float32. A GPU runs them where no fused
// kernel fits; here the CPU does, by LibTorch's autocast of that device.
#include "catch.hpp"
#include "engine_answers.hpp"
#include "headway/core/cpu.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using Catch::Matchers::WithinAbs;
using detail::EngineArray;
using detail::EngineSetup;
using headway::Index;

namespace {

constexpr double kRounding = 0x1p-8;  // of two neighbours in bf16

std::vector<double> losses(const EngineSetup& setup, const TrainingTask& task, int steps) {
  const auto engine = detail::torch_library().make_engine(setup);
  const auto parameters = shaken_parameters(setup.model, setup.format);
  engine->write(EngineArray::kParameters, detail::join_tensors(setup.shapes, parameters));
  detail::StepData data;
  task.batch("train", 4, kEngineExamples, data.pieces.emplace_back());
  detail::AdamWStep step;
  step.rate = 3e-3;
  for (; step.update <= steps; ++step.update) engine->step(data, step);
  std::vector<double> found;
  for (const detail::StepNumbers& numbers : engine->read_steps()) found.push_back(numbers.loss);
  return found;
}

EngineSetup setup_of(const TransformerOptions& model, const TrainingTask& task, double bytes,
                     Precision precision) {
  EngineSetup setup = engine_setup(model, task, true);
  setup.pair_memory = {bytes, bytes};
  setup.precision = precision;
  return setup;
}

// In roundings of bf16.
struct Off {
  double outputs = 0.0;
  double gradients = 0.0;  // of all parameters
};
Off between(const EngineSetup& a, const EngineSetup& b, const TrainingTask& task) {
  const EngineAnswer of_a = engine_answer(a, task);
  const EngineAnswer of_b = engine_answer(b, task);
  const auto joined = [&a](const EngineAnswer& answer) {
    return detail::join_tensors(a.shapes, answer.gradients);
  };
  return {relative_to(of_a.outputs, of_b.outputs, 0.0) / kRounding,
          relative_to(joined(of_a), joined(of_b), 0.0) / kRounding};
}

void check_rounded(const TransformerOptions& model) {
  constexpr double kWhole = 0x1p60;
  constexpr double kOneQuery = 1.0;
  const PatternTask task(128, 128, true);
  const EngineSetup full = setup_of(model, task, kWhole, Precision::kFloat32);
  const EngineSetup whole = setup_of(model, task, kWhole, Precision::kBfloat16);
  const EngineSetup chunks = setup_of(model, task, kOneQuery, Precision::kBfloat16);

  const Off rounded = between(whole, full, task);
  CHECK(rounded.outputs > 0.5);  // products are rounded
  CHECK(rounded.outputs < 6.0);
  CHECK(rounded.gradients < 16.0);
  // The share of each of 128 chunks is rounded, then their sum: were that bf16, too, gradients
  // would be off by 0.55 and more. Without AVX-512 LibTorch 1.13 itself sums in bf16.
  const Off summed = between(chunks, whole, task);
  CHECK(summed.outputs < 0.1);
  CHECK(summed.gradients <
        (headway::has_instruction_set(headway::InstructionSet::kAvx512) ? 0.47 : 3.0));

  const std::vector<double> wanted = losses(full, task, 4);
  const std::vector<double> found = losses(chunks, task, 4);
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("step " << i + 1);
    CHECK_THAT(found[i], WithinAbs(wanted[i], kRounding * wanted[i]));
  }
}

}  // namespace

TEST_CASE("Training in bf16 is that in float32 to the rounding of its products", "[torch]") {
  TransformerOptions model = small_model();
  model.layers = 1;
  model.query_dim = 48;
  model.value_dim = 48;
  for (const char* name : {"softmax", "linear"}) {
    INFO(name);
    model.attention = name;
    check_rounded(model);
  }
  model.attention = "hyla";
  model.nonlinearity = "silu";  // relu's derivative jumps where a sum is rounded to 0
  check_rounded(model);
}
