// The kernel for large layers, which has tiles of fixed sizes. Not for sanitizers: the emulator
// checks every access, barrier, copy and race itself.
#include "attention_checks.hpp"
#include "catch.hpp"
#include "emulated_attention.hpp"
#include "training/kernels/cuda/attention_time.hpp"

using namespace headway::testing;  // NOLINT: a test
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

bool takes(const AttentionShape& shape, const char* variant,
           GpuArithmetic arithmetic = GpuArithmetic::kBf16) {
  const auto plan =
      plan_gpu_attention(shape, attention_variant(variant), arithmetic, true, true, by_shape());
  return plan && plan->kernel == GpuAttentionKernel::kLargeForward;
}

}  // namespace

TEST_CASE("The kernel for large layers is as exact as its operands", "[not_sanitized]") {
  const std::vector<std::pair<const char*, AttentionCase>> cases = {
      {"hyla", {{2, 8, 21, 18, 32, 32}, {true, true, true}, false}},
      {"hyla", {{1, 8, 16, 33, 16, 64}, {false, false, false}, true}},
      {"hyla_no_rms_head", {{1, 8, 5, 16, 64, 32}, {true, false, true}, false}},
      {"hyla_linear_value",
       {{1, 8, 20, 9, 48, 32}, {false, true, false}, true}},  // some see no key
      {"softmax_hyla", {{2, 8, 18, 35, 16, 32}, {true, true, true}, true}},
      {"softmax_hyla", {{1, 8, 20, 9, 16, 32}, {false, true, false}, true}},
  };
  constexpr double kUnit = 0x1p-8;
  for (const auto& [name, c] : cases) {
    INFO(name << " queries " << c.shape.queries << " keys " << c.shape.keys);
    REQUIRE(takes(c.shape, name));
    AttentionOptions options = attention_variant(name);
    options.causal = c.causal;
    if (options.nonlinearity == headway::training::Nonlinearity::kRelu) {
      options.nonlinearity = headway::training::Nonlinearity::kSilu;
    }
    const auto p = in_floats(attention_problem(c.shape, options, c.extras, 3));
    const AttentionAnswer<double> exact = reference_answer(in_doubles(p));
    const EmulatedSettings settings = {.arithmetic = GpuArithmetic::kBf16, .device = by_shape()};
    const auto a = emulated_answer(p, settings);
    CHECK(relative_distance(a.output, exact.output) < 3 * kUnit);
    CHECK(relative_distance(a.output, exact.output) > 0.1 * kUnit);
    CHECK(relative_distance(a.log_sum_exp, exact.log_sum_exp) < 3 * kUnit);
    CHECK(relative_distance(a.d_query, exact.d_query) < 8 * kUnit);
    CHECK(relative_distance(a.d_value, exact.d_value) < 8 * kUnit);
    CHECK(a.output == emulated_answer(p, settings).output);
  }
}

TEST_CASE("A NaN in the input of the kernel for large layers is one in the output",
          "[not_sanitized]") {
  for (const char* name : {"hyla", "softmax_hyla"}) {
    auto p = in_floats(attention_problem({1, 8, 5, 5, 16, 32}, attention_variant(name), {}, 5));
    for (std::vector<float>* array : {&p.query, &p.key, &p.value}) {
      const float before = array->front();
      array->front() = std::nanf("");
      INFO(name);
      const auto a = emulated_answer(p, {.arithmetic = GpuArithmetic::kBf16, .device = by_shape()});
      CHECK(std::isnan(a.output.front()));
      array->front() = before;
    }
  }
}

TEST_CASE("The kernel for large layers takes HYLA in bf16 with eight heads", "[not_sanitized]") {
  CHECK(takes({8, 8, 1024, 1024, 64, 64}, "hyla"));
  CHECK(takes({16, 8, 256, 256, 32, 32}, "softmax_hyla"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 64, 64}, "softmax"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 64, 64}, "hyla_deep"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 64, 64}, "hyla", GpuArithmetic::kTf32));
  CHECK_FALSE(takes({8, 4, 1024, 1024, 64, 64}, "hyla"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 80, 64}, "hyla"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 24, 64}, "hyla"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 64, 48}, "hyla"));
  const headway::training::GpuAttentionLayer layer = {
      {8, 8, 1024, 1024, 64, 64}, attention_variant("hyla"), GpuArithmetic::kBf16};
  const auto plan =
      plan_gpu_attention(layer.shape, layer.options, layer.arithmetic, false, false, by_shape());
  const auto t = gpu_attention_time(layer, *plan, GpuAttentionPass::kForward, by_shape());
  CHECK(t.warps == 16.0);  // two blocks fit beside each other
  CHECK(t.flops >=
        2.0 * headway::training::count_multiply_adds(layer.shape, layer.options).forward);
  CHECK(t.ms > 0.0);
}
