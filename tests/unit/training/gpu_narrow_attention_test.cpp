// The kernels for narrow layers. Not for sanitizers: the emulator checks every access, barrier and
// race itself.
#include "attention_checks.hpp"
#include "catch.hpp"
#include "emulated_attention.hpp"
#include "training/kernels/cuda/attention_time.hpp"

using namespace headway::testing;  // NOLINT: a test
using headway::Index;
using headway::Rng;
using headway::StreamPurpose;
using headway::training::attention_variant;
using headway::training::GpuArithmetic;
using headway::training::GpuAttentionKernel;
using headway::training::GpuAttentionPass;
using headway::training::GpuDevice;
using headway::training::plan_gpu_attention;

namespace {

GpuDevice by_shape() {
  GpuDevice device;
  device.kernels_by_shape = true;
  return device;
}

AttentionProblem<float> problem(const char* variant, const AttentionShape& shape,
                                const AttentionExtras& extras, bool causal = false) {
  AttentionOptions options = attention_variant(variant);
  options.causal = causal;
  return in_floats(attention_problem(shape, options, extras, 3));
}

bool takes(const AttentionShape& shape, const AttentionOptions& options,
           const GpuDevice& device = by_shape()) {
  const auto plan = plan_gpu_attention(shape, options, GpuArithmetic::kFloat32, true, true, device);
  return plan && plan->kernel == GpuAttentionKernel::kNarrow;
}

// Of the general ones, and of each padding: all heads and dims, and one more than the next smaller.
std::vector<AttentionCase> shapes() {
  std::vector<AttentionCase> cases = attention_shapes();
  cases.push_back({{2, 16, 5, 6, 4, 4}, {true, true, true}, false});
  cases.push_back({{1, 8, 9, 9, 4, 4}, {true, false, true}, true});
  cases.push_back({{2, 9, 6, 4, 2, 3}, {true, true, false}, false});
  cases.push_back({{3, 7, 9, 38, 3, 4}, {true, true, true}, true});  // more keys than warps take
  return cases;
}

}  // namespace

TEST_CASE("The kernels for narrow layers give the reference's outputs and gradients",
          "[not_sanitized]") {
  int taken = 0;
  for (auto [name, options] : attention_cases()) {
    for (const AttentionCase& c : shapes()) {
      options.causal = c.causal;
      if (!takes(c.shape, options)) continue;
      ++taken;
      INFO(name << ": H " << c.shape.heads << " Sq " << c.shape.queries << " Sk " << c.shape.keys
                << " d " << c.shape.query_dim << " dv " << c.shape.value_dim);
      const auto p = in_floats(attention_problem(c.shape, options, c.extras, 3));
      check_answer(p, emulated_answer(p, {.device = by_shape()}), reference_answer(in_doubles(p)),
                   2e-5);
    }
  }
  CHECK(taken > 100);
}

TEST_CASE("The kernels for narrow layers are right for every number of tokens", "[not_sanitized]") {
  for (const char* name : {"softmax", "linear_rms_head", "hyla"}) {
    for (Index tokens = 1; tokens <= 56; tokens += tokens < 20 ? 1 : 9) {
      INFO(name << ", " << tokens << " tokens");
      const auto p = problem(name, {2, 3, tokens, tokens, 3, 2}, {tokens % 2 == 0, false, false},
                             tokens % 3 == 0);
      REQUIRE(takes(p.shape, p.options));
      check_answer(p, emulated_answer(p, {.device = by_shape()}), reference_answer(in_doubles(p)));
    }
  }
}

TEST_CASE("The kernels for narrow layers are right however examples are dealt to blocks",
          "[not_sanitized]") {
  for (const char* name : {"softmax", "hyla", "linear_rms_head_nonlinear_value"}) {
    for (const Index heads : {8, 16}) {
      const auto p = problem(name, {5, heads, 11, 13, 4, 3}, {true, true, true}, true);
      const AttentionAnswer<double> exact = reference_answer(in_doubles(p));
      for (const int groups : {1, 2, 5}) {
        INFO(name << ", " << groups << " groups");
        check_answer(p, emulated_answer(p, {.device = by_shape(), .most_groups = groups}), exact,
                     2e-5);
      }
    }
  }
}

TEST_CASE("The kernels for narrow layers calculate in float32", "[not_sanitized]") {
  for (const char* name :
       {"softmax", "linear", "hyla_linear_value_no_rms_head", "hyla", "linear_rms_head"}) {
    AttentionProblem<float> p = problem(name, {2, 9, 17, 15, 4, 3}, {true, true, true});
    if (p.options.nonlinearity == headway::training::Nonlinearity::kRelu) {
      p.options.nonlinearity = headway::training::Nonlinearity::kSilu;
    }
    const AttentionAnswer<double> exact = reference_answer(in_doubles(p));
    const EmulatedSettings in_floats = {.device = by_shape()};
    const EmulatedSettings tf32 = {.arithmetic = GpuArithmetic::kTf32, .device = by_shape()};
    CHECK(emulated_answer(p, tf32) == emulated_answer(p, in_floats));
    const double unit = 0x1p-8;  // of bf16, which arrays are made of
    INFO(name);
    const auto a = emulated_answer(p, {.arithmetic = GpuArithmetic::kBf16, .device = by_shape()});
    CHECK(relative_distance(a.output, exact.output) < 3 * unit);
    CHECK(relative_distance(a.output, exact.output) > 0.1 * unit);  // it does round
    CHECK(relative_distance(a.log_sum_exp, exact.log_sum_exp) < 3 * unit);
    CHECK(relative_distance(a.d_query, exact.d_query) < 8 * unit);
    CHECK(relative_distance(a.d_key, exact.d_key) < 8 * unit);
    CHECK(relative_distance(a.d_value, exact.d_value) < 4 * unit);
    CHECK(relative_distance(a.d_bias, exact.d_bias) < 8 * unit);
  }
}

TEST_CASE("The kernels for narrow layers draw the dropout of the random streams, bit for bit",
          "[not_sanitized]") {
  const Index tokens = 9;
  const Index first = 2;
  const double rate = 0.3;
  AttentionProblem<float> p = problem("hyla", {2, 6, tokens - first, tokens, 3, 2}, {});
  const EmulatedSettings drawn = {.device = by_shape(), .drawn = {{11, 5, rate, tokens, first, 0}}};
  const AttentionAnswer<float> answer = emulated_answer(p, drawn);
  CHECK(answer == emulated_answer(p, drawn));
  Rng rng(11, StreamPurpose::kDropout, 5);
  for (Index i = 0; i < tokens * tokens; ++i) {
    const bool dropped = rng.uniform() < rate;
    if (i >= first * tokens) {
      p.dropout.push_back(dropped ? 0.0F : static_cast<float>(1.0 / (1.0 - rate)));
    }
  }
  CHECK(answer == emulated_answer(p, {.device = by_shape()}));
}

TEST_CASE("The kernels for narrow layers write gradients where they are asked to",
          "[not_sanitized]") {
  for (const char* name : {"softmax", "hyla"}) {
    const auto p = problem(name, {3, 4, 5, 5, 4, 4}, {true, false, false});
    const auto plain = emulated_answer(p, {.device = by_shape()});
    CHECK(plain == emulated_answer(p, {.device = by_shape(), .row_beyond = 3}));
    const auto without = emulated_answer(p, {.device = by_shape(), .bias_gradient = false});
    CHECK(without.d_query == plain.d_query);
    CHECK(without.d_key == plain.d_key);
    CHECK(without.d_value == plain.d_value);
    CHECK(without.d_bias == std::vector<float>(p.bias.size(), 7));
  }
}

TEST_CASE("A NaN in the input of the kernels for narrow layers is one in the output",
          "[not_sanitized]") {
  for (const auto& [name, options] : attention_cases()) {
    AttentionProblem<float> p = in_floats(attention_problem({2, 4, 5, 5, 4, 4}, options, {}, 5));
    for (std::vector<float>* array : {&p.query, &p.key, &p.value}) {
      const float before = array->front();
      array->front() = std::nanf("");
      INFO(name);
      for (const auto kind : {GpuArithmetic::kFloat32, GpuArithmetic::kBf16}) {
        const auto answer = emulated_answer(p, {.arithmetic = kind, .device = by_shape()});
        CHECK(std::isnan(answer.output.front()));
      }
      array->front() = before;
    }
  }
}

TEST_CASE("The kernels for narrow layers take the layers of the small studies alone",
          "[not_sanitized]") {
  const auto hyla = attention_variant("hyla");
  CHECK(takes({128, 16, 36, 36, 4, 4}, hyla));                     // SRAVEN
  CHECK(takes({128, 8, 32, 32, 2, 2}, hyla));                      // fuzzy logic
  CHECK_FALSE(takes({128, 16, 36, 36, 4, 4}, hyla, GpuDevice{}));  // not asked for
  CHECK_FALSE(takes({128, 8, 65, 65, 4, 4}, hyla));
  CHECK_FALSE(takes({128, 16, 50, 50, 4, 4}, hyla));  // its pairs do not fit a block
  CHECK_FALSE(takes({128, 17, 36, 36, 4, 4}, hyla));
  CHECK_FALSE(takes({128, 8, 32, 32, 5, 4}, hyla));
  CHECK_FALSE(takes({128, 1, 32, 32, 4, 4}, hyla));  // seven eighths of the work would be padding
  CHECK_FALSE(takes({128, 16, 36, 36, 4, 4}, attention_variant("hyla_deep")));
  CHECK_FALSE(takes({128, 16, 36, 36, 4, 4}, attention_variant("softmax_hyla")));
}

TEST_CASE("The model of the time knows what a layer's kernels do") {
  const headway::training::GpuAttentionLayer layer = {
      {128, 16, 36, 36, 4, 4}, attention_variant("hyla"), GpuArithmetic::kFloat32};
  const auto general = plan_gpu_attention(layer.shape, layer.options, layer.arithmetic, true, true);
  const auto small =
      plan_gpu_attention(layer.shape, layer.options, layer.arithmetic, true, true, by_shape());
  const auto work = headway::training::count_multiply_adds(layer.shape, layer.options);
  for (const auto& plan : {*general, *small}) {
    for (const auto pass : {GpuAttentionPass::kForward, GpuAttentionPass::kBackward}) {
      const bool forward = pass == GpuAttentionPass::kForward;
      const auto t = gpu_attention_time(layer, plan, pass, by_shape());
      CHECK(t.flops >= 2.0 * (forward ? work.forward : work.backward));
      CHECK(t.shared_bytes > 0.0);
      CHECK(t.global_bytes >= 4.0 * 128 * 36 * 64 * 4);  // three arrays are read, one is written
      CHECK(t.warps >= 1.0);
      CHECK(t.warps <= 64.0);
      CHECK(t.ms > 0.0);
      CHECK(t.launches >= 1);
    }
  }
}
