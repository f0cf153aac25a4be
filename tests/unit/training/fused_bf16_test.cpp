// The hand-written step in bf16, on the emulator: products of rounded numbers, sums in float32. Its
// gradients are those of float32 to some roundings, and no further off than LibTorch's bf16.
#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

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

constexpr double kRounding = 0x1p-8;  // the largest relative error of a number in bf16

detail::StepData step_data(const EngineSetup& setup, const TrainingTask& task, int draw = 0) {
  detail::StepData data;
  task.batch("train", 4 + draw, kEngineExamples, data.pieces.emplace_back());
  if (setup.model.network == NetworkKind::kTransformer) {
    data.dropout = dropout_of(setup.model, setup.format.tokens);
  }
  return data;
}

EngineSetup setup_of(const TransformerOptions& model, const TrainingTask& task,
                     Precision precision) {
  EngineSetup setup = engine_setup(model, task, true);
  setup.precision = precision;
  return setup;
}

// Other ones for each draw.
std::vector<float> parameters_of(const EngineSetup& setup, int draw) {
  std::vector<float> flat =
      detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format));
  for (std::size_t i = 0; i < flat.size(); ++i) {
    flat[i] *= 1.0F + 0.2F * std::sin(static_cast<float>(draw * (i % 1000)));
  }
  return flat;
}

struct Gradients {
  double loss = 0.0;
  std::vector<float> all;
};

Gradients of_engine(const EngineSetup& setup, const TrainingTask& task, int draw = 0) {
  const auto engine = detail::torch_library().make_engine(setup);
  std::vector<float> flat = parameters_of(setup, draw);
  engine->write(detail::EngineArray::kParameters, flat);
  const double loss = engine->compute_gradients(step_data(setup, task, draw));
  engine->read(detail::EngineArray::kGradients, flat);
  return {loss, flat};
}

Gradients of_step(const EngineSetup& setup, const TrainingTask& task, const GpuDevice& device = {},
                  bool plain_products = false, int draw = 0) {
  EmulatedStep step(setup, {step_data(setup, task, draw)}, {}, device);
  if (plain_products) step.device_.take_products_from_library();
  step.write(parameters_of(setup, draw), &step.values_);
  step.step_->run_gradients();
  CHECK(step.device_.launches() + 1 == step.step_->cost().launches);
  return {step.loss_[0], step.read(step.gradients_)};
}

// In roundings of bf16.
double off(const Gradients& a, const Gradients& exact) {
  return relative_to(a.all, exact.all, 0.0) / kRounding;
}

// Of all parameters, then of each tensor. One whose gradient is small beside that of all, such as
// biases of keys under softmax, is compared with a part of all.
std::vector<double> off_by_tensor(const EngineSetup& setup, const Gradients& a,
                                  const Gradients& exact) {
  double squares = 0.0;
  for (const float x : exact.all) squares += static_cast<double>(x) * x;
  const auto found = detail::split_tensors(setup.shapes, a.all);
  const auto wanted = detail::split_tensors(setup.shapes, exact.all);
  std::vector<double> roundings = {off(a, exact)};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double least = 0.02 * std::sqrt(squares);
    roundings.push_back(relative_to(found[i].values, wanted[i].values, least) / kRounding);
  }
  return roundings;
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

constexpr int kDraws = 15;

// A step's gradient passes some 30 roundings, each off by 0.4 roundings (rms), which add up as
// independent ones do: 2 roundings. RMSHead and softmax magnify what goes into them, on some
// examples by a lot. So LibTorch's step in bf16, which rounds as often, says what is allowed, and
// the median of several draws is compared.
void check_rounded(const TransformerOptions& model, const TrainingTask& task,
                   const GpuDevice& device = {}) {
  const EngineSetup full = setup_of(model, task, Precision::kFloat32);
  const EngineSetup setup = setup_of(model, task, Precision::kBfloat16);
  REQUIRE(FusedStep::obstacle(setup, {kEngineExamples, false, true}, device).empty());
  std::vector<std::vector<double>> found(1 + setup.shapes.size()), allowed(found);
  std::vector<double> losses;
  for (int draw = 0; draw < kDraws; ++draw) {
    const Gradients exact = of_engine(full, task, draw);
    const Gradients rounded = of_step(setup, task, device, false, draw);
    const std::vector<double> ours = off_by_tensor(setup, rounded, exact);
    const std::vector<double> theirs = off_by_tensor(setup, of_engine(setup, task, draw), exact);
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i].push_back(ours[i]);
      allowed[i].push_back(theirs[i]);
    }
    losses.push_back(std::abs(rounded.loss / exact.loss - 1.0) / kRounding);
  }
  CHECK(median(found[0]) < 1.5 * median(allowed[0]));
  CHECK(median(found[0]) > 0.2);  // products are rounded
  CHECK(median(losses) < median(allowed[0]));
  for (std::size_t i = 1; i < found.size(); ++i) {
    INFO(setup.shapes[i - 1].name);
    CHECK(median(found[i]) < 2.0 * median(allowed[i]) + 2.0);
  }
}

// relu's derivative jumps where a sum is rounded to 0, so silu stands for it.
TransformerOptions smooth_model_of(const std::string& attention) {
  TransformerOptions model = model_of(attention);
  if (model.attention_options().nonlinearity == Nonlinearity::kRelu) model.nonlinearity = "silu";
  return model;
}

TransformerOptions mixture_model() {
  TransformerOptions model = smooth_model_of("hyla");
  model.feed_forward = FeedForward::kMixture;
  model.experts = 5;
  model.load_balancing = 0.3;
  return model;
}

TransformerOptions rotary_model() {
  TransformerOptions model = smooth_model_of("softmax");
  model.causal = true;
  model.norm = Norm::kRmsNorm;
  model.positions = Positions::kRotary;
  model.feed_forward = FeedForward::kSwiglu;
  return model;
}

int products_in_bf16(const FusedStep& step) {
  int count = 0;
  for (const detail::StepLaunch& launch : step.launches()) {
    const auto* p = std::get_if<detail::StepProduct>(&launch.operation);
    if (p == nullptr) continue;
    INFO(launch.name);
    CHECK(p->left.data.is_bf16());
    CHECK(p->right.data.is_bf16());
    CHECK_FALSE(p->tf32);
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("A hand-written step in bf16 has rounded gradients: every variant", "[torch]") {
  for (const std::string& name : attention_variant_names()) {
    INFO(name);
    check_rounded(smooth_model_of(name), PatternTask(5, 2, true));
  }
}

TEST_CASE("A hand-written step in bf16 has rounded gradients: other networks and tasks",
          "[torch]") {
  check_rounded(rotary_model(), CountingTask(6, false));
  TransformerOptions model = smooth_model_of("hyla");
  model.causal = true;
  model.position_buckets = 3;
  check_rounded(model, CountingTask(6, true));
  model.encoder_layers = 2;
  check_rounded(model, PatternTask(7, 3));
  model = rotary_model();
  model.encoder_layers = 1;
  check_rounded(model, PatternTask(7, 3));
  check_rounded(mixture_model(), PatternTask(5, 2));
  check_rounded(linear_value_model(1), CountingTask(5, false));
  check_rounded(linear_value_model(3), CountingTask(5, false));
}

TEST_CASE("A hand-written step in bf16 has rounded gradients: each kernel of the attention",
          "[torch]") {
  const auto kernel_of = [](const TransformerOptions& model, const TrainingTask& task,
                            const GpuDevice& device) {
    const Index tokens = task.format().tokens;
    return detail::plan_step_attention(setup_of(model, task, Precision::kBfloat16),
                                       {kEngineExamples, true, true},
                                       {"", 0, tokens, tokens, 0, 0, false}, device)
        ->plan;
  };
  const PatternTask task(9, 2, true);
  GpuDevice device;
  device.block_shared_bytes = 1800;
  CHECK(kernel_of(smooth_model_of("softmax_hyla"), task, device).backward.key_slices > 1);
  check_rounded(smooth_model_of("softmax_hyla"), task, device);
  // One block has all keys, of several examples: it writes the gradient of queries itself.
  device = {};
  device.multiprocessors = 1;
  for (const char* name : {"softmax", "hyla"}) {
    INFO(name);
    const GpuAttentionPlan plan = kernel_of(smooth_model_of(name), task, device);
    CHECK(plan.kernel == GpuAttentionKernel::kGeneral);
    CHECK(plan.backward.key_slices == 1);
    check_rounded(smooth_model_of(name), task, device);
  }
  device = {};
  device.kernels_by_shape = true;
  for (const char* name : {"softmax", "hyla", "linear_rms_head"}) {
    INFO(name);
    CHECK(kernel_of(smooth_model_of(name), task, device).kernel == GpuAttentionKernel::kNarrow);
    check_rounded(smooth_model_of(name), task, device);
  }
  TransformerOptions model = smooth_model_of("hyla");
  model.layers = 1;
  model.heads = 8;
  model.query_dim = 8 * 16;
  model.value_dim = 8 * 32;
  for (const char* name : {"hyla", "softmax_hyla"}) {
    INFO(name);
    model.attention = name;
    CHECK(kernel_of(model, task, device).kernel == GpuAttentionKernel::kLarge);
    check_rounded(model, task, device);
  }
}

TEST_CASE("A hand-written step in bf16 is no further off than LibTorch's operations", "[torch]") {
  for (const auto& model : {smooth_model_of("softmax"), smooth_model_of("hyla"), rotary_model()}) {
    INFO(model.attention);
    const PatternTask task(8, 8);
    const EngineSetup full = setup_of(model, task, Precision::kFloat32);
    const EngineSetup setup = setup_of(model, task, Precision::kBfloat16);
    std::vector<double> ours, libtorch;
    for (int draw = 0; draw < kDraws; ++draw) {
      const Gradients exact = of_engine(full, task, draw);
      ours.push_back(off(of_step(setup, task, {}, false, draw), exact));
      libtorch.push_back(off(of_engine(setup, task, draw), exact));
    }
    CHECK(median(libtorch) > 0.2);
    CHECK(median(ours) < 1.2 * median(libtorch));
  }
}

TEST_CASE("A product that a library lacks is made by a kernel of ours", "[torch]") {
  const CountingTask numbers(5, false);
  for (const auto precision : {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16}) {
    for (const auto& model : {mixture_model(), rotary_model(), linear_value_model(2)}) {
      const EngineSetup setup = setup_of(model, numbers, precision);
      const Gradients wanted = of_step(setup, numbers);
      const Gradients found = of_step(setup, numbers, {}, true);
      // Sums of float differ from those of double, and may be rounded to a neighbour in bf16.
      const double most = precision == Precision::kFloat32 ? 1e-5 : 0.5 * kRounding;
      CHECK(found.all != wanted.all);
      CHECK(relative_to(found.all, wanted.all, 0.0) < most);
      CHECK(std::abs(found.loss - wanted.loss) < most * wanted.loss);
    }
  }
}

TEST_CASE("A hand-written step in bf16 keeps parameters and moments in float32", "[torch]") {
  const PatternTask task(5, 2);
  const EngineSetup full = setup_of(smooth_model_of("hyla"), task, Precision::kFloat32);
  const EngineSetup half = setup_of(smooth_model_of("hyla"), task, Precision::kBfloat16);
  detail::AdamWStep update;
  update.rate = 1e-3;  // a parameter moves by less than a rounding
  const auto train = [&](const EngineSetup& setup) {
    EmulatedStep step(setup, {step_data(setup, task)}, update);
    step.write(detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format)),
               &step.values_);
    for (int i = 1; i <= 3; ++i) {
      detail::AdamWStep now = update;
      now.update = i;
      step.run({now});
    }
    CHECK(step.history_[4] < step.history_[0]);
    return std::pair(step.read(step.values_), step.read(step.second_));
  };
  const auto [wanted, squares] = train(full);
  const auto [values, found_squares] = train(half);
  CHECK(relative_to(values, wanted, 0.0) < 2e-3);
  CHECK(relative_to(found_squares, squares, 0.0) < 20.0 * kRounding);  // twice a gradient's
  std::size_t rounded = 0;
  for (const float x : values) rounded += to_float(to_bf16(x)) == x ? 1 : 0;
  CHECK(rounded < values.size() / 20);
}

TEST_CASE("The engine takes the hand-written step in bf16", "[torch]") {
  const PatternTask task(5, 2);
  EngineSetup setup = setup_of(smooth_model_of("softmax"), task, Precision::kFloat32);
  const EngineAnswer exact = engine_answer(setup, task);
  static int devices;
  devices = 0;
  setup.precision = Precision::kBfloat16;
  setup.make_step_device = [](void*) -> std::unique_ptr<detail::StepDevice> {
    ++devices;
    return std::make_unique<EmulatedStepDevice>();
  };
  const EngineAnswer answer = engine_answer(setup, task);
  CHECK(devices == 1);
  const auto joined = [&setup](const EngineAnswer& a) {
    return detail::join_tensors(setup.shapes, a.gradients);
  };
  CHECK(relative_to(joined(answer), joined(exact), 0.0) < 8.0 * kRounding);
  CHECK(joined(answer) == of_step(setup, task).all);
}

TEST_CASE("Of a hand-written step in bf16 every product has bf16 factors") {
  detail::PlannedDevice device;
  for (const auto& model : {smooth_model_of("hyla_deep"), mixture_model(), rotary_model()}) {
    for (const Index encoders : {0, 1}) {
      TransformerOptions changed = model;
      changed.encoder_layers = encoders;
      const EngineSetup setup = setup_of(changed, PatternTask(6, 3), Precision::kBfloat16);
      CHECK(products_in_bf16({setup, {3, false, true}, {}, {}, &device}) > 20);
    }
  }
  const EngineSetup setup =
      setup_of(linear_value_model(3), CountingTask(5, false), Precision::kBfloat16);
  CHECK(products_in_bf16({setup, {3, false, false}, {}, {}, &device}) > 15);
}

TEST_CASE("In bf16 the network of the SRAVEN study has at most 100 launches and fewer bytes") {
  GpuDevice by_shape;
  by_shape.kernels_by_shape = true;
  for (const GpuDevice& sizes : {GpuDevice{}, by_shape}) {
    for (const char* attention : {"hyla", "softmax"}) {
      detail::PlannedDevice device(sizes);
      const FusedStep full = sraven_step(attention, &device);
      const FusedStep half = sraven_step(attention, &device, Precision::kBfloat16);
      INFO(half.table());
      CHECK(half.cost().launches <= 100);
      CHECK(half.cost().bytes < 0.75 * full.cost().bytes);
      CHECK(half.cost().bytes > 0.5 * full.cost().bytes);
      CHECK(products_in_bf16(half) > 40);
    }
  }
}
