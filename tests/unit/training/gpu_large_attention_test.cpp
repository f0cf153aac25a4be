// The kernels for large layers, which have tiles of fixed sizes. Not for sanitizers: the emulator
// checks every access, barrier, copy and race itself.
#include "attention_checks.hpp"
#include "catch.hpp"
#include "emulated_attention.hpp"
#include "training/kernels/cuda/attention_large_launches.hpp"
#include "training/kernels/cuda/attention_passes.hpp"
#include "training/kernels/cuda/attention_time.hpp"

using namespace headway::testing;  // NOLINT: a test
using headway::Index;
using headway::Rng;
using headway::StreamPurpose;
using headway::training::attention_variant;
using headway::training::Bf16;
using headway::training::GpuArithmetic;
using headway::training::GpuAttentionKernel;
using headway::training::GpuAttentionPass;
using headway::training::GpuAttentionPlan;
using headway::training::GpuDevice;
using headway::training::Nonlinearity;
using headway::training::plan_gpu_attention;

namespace emulated = headway::training::emulated_kernels;

namespace {

constexpr double kUnit = 0x1p-8;  // of a rounded operand

GpuDevice by_shape() {
  GpuDevice device;
  device.kernels_by_shape = true;
  return device;
}
EmulatedSettings large() { return {.arithmetic = GpuArithmetic::kBf16, .device = by_shape()}; }

bool takes(const AttentionShape& shape, const char* variant,
           GpuArithmetic arithmetic = GpuArithmetic::kBf16) {
  const auto plan =
      plan_gpu_attention(shape, attention_variant(variant), arithmetic, true, true, by_shape());
  return plan && plan->kernel == GpuAttentionKernel::kLarge;
}

// Rounded to what the arrays hold, so that only what the kernels round makes errors.
AttentionProblem<float> problem(const char* name, const AttentionCase& c, Nonlinearity phi) {
  AttentionOptions options = attention_variant(name);
  options.causal = c.causal;
  if (options.nonlinearity != Nonlinearity::kIdentity) options.nonlinearity = phi;
  return in_floats(attention_problem(c.shape, options, c.extras, 3));
}

void check_large(const AttentionProblem<float>& p, const AttentionAnswer<float>& a,
                 const AttentionAnswer<double>& exact) {
  CHECK(relative_distance(a.output, exact.output) < 3 * kUnit);
  CHECK(relative_distance(a.output, exact.output) > 0.1 * kUnit);  // it does round
  CHECK(relative_distance(a.log_sum_exp, exact.log_sum_exp) < 3 * kUnit);
  CHECK(relative_distance(a.d_query, exact.d_query) < 8 * kUnit);
  CHECK(relative_distance(a.d_query, exact.d_query) > 0.1 * kUnit);
  CHECK(relative_distance(a.d_key, exact.d_key) < 8 * kUnit);
  CHECK(relative_distance(a.d_value, exact.d_value) < 4 * kUnit);
  CHECK(relative_distance(a.d_bias, exact.d_bias) < 8 * kUnit);
  CHECK(a.d_bias.size() == p.bias.size());
}

const std::vector<std::pair<const char*, AttentionCase>>& large_cases() {
  static const std::vector<std::pair<const char*, AttentionCase>> list = {
      {"hyla", {{2, 8, 21, 18, 32, 32}, {true, true, true}, false}},
      {"hyla", {{1, 8, 16, 33, 16, 64}, {false, false, false}, true}},
      {"hyla", {{1, 8, 40, 40, 64, 64}, {true, false, false}, true}},
      {"hyla_no_rms_head", {{1, 8, 5, 16, 64, 32}, {true, false, true}, false}},
      // Some see no key.
      {"hyla_linear_value", {{1, 8, 37, 20, 48, 32}, {true, true, false}, true}},
      {"hyla_linear_value_no_rms_head", {{1, 8, 18, 17, 16, 32}, {false, true, true}, false}},
      {"softmax_hyla", {{2, 8, 18, 35, 16, 32}, {true, true, true}, true}},
      {"softmax_hyla", {{1, 8, 37, 20, 16, 64}, {true, true, false}, true}},
      {"softmax_hyla", {{1, 8, 18, 17, 32, 32}, {false, false, true}, false}},
  };
  return list;
}

}  // namespace

TEST_CASE("The kernels for large layers are as exact as their operands", "[not_sanitized]") {
  for (const auto& [name, c] : large_cases()) {
    INFO(name << " queries " << c.shape.queries << " keys " << c.shape.keys);
    REQUIRE(takes(c.shape, name));
    const auto p = problem(name, c, Nonlinearity::kSilu);
    const auto a = emulated_answer(p, large());
    check_large(p, a, reference_answer(in_doubles(p)));
    CHECK(a == emulated_answer(p, large()));
  }
}

TEST_CASE("The kernels for large layers know every nonlinearity", "[not_sanitized]") {
  const AttentionCase c = {{1, 8, 17, 19, 16, 32}, {true, false, false}, false};
  for (const auto phi : {Nonlinearity::kGelu, Nonlinearity::kTanh, Nonlinearity::kSquaredRelu}) {
    for (const char* name : {"hyla", "softmax_hyla"}) {
      INFO(name << " " << static_cast<int>(phi));
      const auto p = problem(name, c, phi);
      check_large(p, emulated_answer(p, large()), reference_answer(in_doubles(p)));
    }
  }
  // Where the derivative jumps, pairs near 0 are on the wrong side: so are those of the general
  // kernels.
  const auto p = problem("hyla", c, Nonlinearity::kRelu);
  const auto exact = reference_answer(in_doubles(p));
  const auto a = emulated_answer(p, large());
  CHECK(relative_distance(a.output, exact.output) < 3 * kUnit);
  CHECK(relative_distance(a.d_value, exact.d_value) < 0.1);
  const auto general = emulated_answer(p, {.arithmetic = GpuArithmetic::kBf16});
  CHECK(relative_distance(a.d_value, exact.d_value) <
        1.5 * relative_distance(general.d_value, exact.d_value));
}

TEST_CASE("The backward pass of large layers takes queries in chunks", "[not_sanitized]") {
  for (const auto& [name, c] : large_cases()) {
    if (c.shape.queries <= 32) continue;
    INFO(name << " queries " << c.shape.queries << " keys " << c.shape.keys);
    const auto p = problem(name, c, Nonlinearity::kSilu);
    EmulatedSettings settings = large();
    settings.chunk_queries = 32;
    // Sums of keys and values go on in the order of one chunk, so all bits are the same.
    CHECK(emulated_answer(p, settings) == emulated_answer(p, large()));
  }
}

TEST_CASE("Examples of large layers share copies of the gradient of the bias", "[not_sanitized]") {
  for (const char* name : {"hyla", "softmax_hyla"}) {
    INFO(name);
    const auto p =
        problem(name, {{5, 8, 18, 20, 16, 32}, {true, true, false}, true}, Nonlinearity::kGelu);
    EmulatedSettings settings = large();
    settings.most_groups = 2;
    const auto a = emulated_answer(p, settings);
    check_large(p, a, reference_answer(in_doubles(p)));
    const auto apart = emulated_answer(p, large());
    CHECK(a.d_query == apart.d_query);
    CHECK(a.d_key == apart.d_key);
    CHECK(a.d_value == apart.d_value);
  }
  const auto p =
      problem("hyla", {{2, 8, 18, 20, 16, 32}, {true, false, false}, false}, Nonlinearity::kGelu);
  EmulatedSettings without = large();
  without.bias_gradient = false;
  const auto a = emulated_answer(p, without);
  CHECK(a.d_bias == std::vector<float>(p.bias.size(), 7));
  CHECK(a.d_key == emulated_answer(p, large()).d_key);
}

// Blocks of a run are dealt to its examples and tiles, the longest first.
TEST_CASE("The examples of a large layer may be those of several runs", "[not_sanitized]") {
  for (const auto& [name, of_one] : large_cases()) {
    AttentionCase c = of_one;
    c.shape.batch = 6;
    c.extras.bias = false;  // its gradient has copies, of which each run has as many
    const auto p = problem(name, c, Nonlinearity::kSilu);
    const auto whole = emulated_answer(p, large());
    for (const int runs : {2, 3, 6}) {
      INFO(name << " queries " << c.shape.queries << " runs " << runs);
      EmulatedSettings settings = large();
      settings.runs = runs;
      CHECK(emulated_answer(p, settings) == whole);
    }
  }
}

TEST_CASE("Large layers: gradients of queries lie in longer rows of floats where asked for",
          "[not_sanitized]") {
  for (const char* name : {"hyla", "softmax_hyla"}) {
    const auto p =
        problem(name, {{2, 8, 18, 20, 16, 32}, {true, false, false}, true}, Nonlinearity::kGelu);
    EmulatedSettings settings = large();
    settings.row_beyond = 16;
    CHECK(emulated_answer(p, settings).d_query == emulated_answer(p, large()).d_query);
  }
}

TEST_CASE("Large layers: dropout drawn in the kernels is that of the random streams",
          "[not_sanitized]") {
  for (const char* name : {"hyla", "softmax_hyla"}) {
    auto p = problem(name, {{1, 8, 18, 20, 16, 32}, {}, false}, Nonlinearity::kSilu);
    const double rate = 0.3;
    const std::uint64_t seed = 77;
    EmulatedSettings settings = large();
    settings.drawn = {{seed, 5, rate, p.shape.keys, 0, 0}};
    const auto answer = emulated_answer(p, settings);
    Rng rng(seed, StreamPurpose::kDropout, 5);
    for (Index i = 0; i < p.shape.queries * p.shape.keys; ++i) {
      p.dropout.push_back(rng.uniform() < rate ? 0.0F : static_cast<float>(1.0 / (1.0 - rate)));
    }
    INFO(name);
    CHECK(answer == emulated_answer(p, large()));
  }
}

TEST_CASE("A NaN in the input of the kernels for large layers is one in what it reaches",
          "[not_sanitized]") {
  for (const char* name : {"hyla", "softmax_hyla"}) {
    auto p = in_floats(attention_problem({1, 8, 5, 5, 16, 32}, attention_variant(name), {}, 5));
    for (std::vector<float>* array : {&p.query, &p.key, &p.value, &p.d_output}) {
      const float before = array->front();
      array->front() = std::nanf("");
      INFO(name);
      const auto a = emulated_answer(p, large());
      CHECK(std::isnan(a.output.front()) == (array != &p.d_output));
      CHECK(std::isnan(a.d_query.front()));
      CHECK(std::isnan(a.d_key.front()));
      array->front() = before;
    }
  }
}

TEST_CASE("The kernels for large layers take HYLA in bf16 with eight heads", "[not_sanitized]") {
  CHECK(takes({8, 8, 1024, 1024, 64, 64}, "hyla"));
  CHECK(takes({16, 8, 256, 256, 32, 32}, "softmax_hyla"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 64, 64}, "softmax"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 64, 64}, "hyla_deep"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 64, 64}, "hyla", GpuArithmetic::kTf32));
  CHECK_FALSE(takes({8, 4, 1024, 1024, 64, 64}, "hyla"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 80, 64}, "hyla"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 24, 64}, "hyla"));
  CHECK_FALSE(takes({8, 8, 1024, 1024, 64, 48}, "hyla"));
  GpuDevice small = by_shape();
  small.block_shared_bytes = 64 * 1024;  // holds a tile of the general kernels alone
  const auto plan = plan_gpu_attention({8, 8, 1024, 1024, 64, 64}, attention_variant("hyla"),
                                       GpuArithmetic::kBf16, true, true, small);
  REQUIRE(plan.has_value());
  CHECK(plan->kernel == GpuAttentionKernel::kGeneral);
}

namespace {

GpuAttentionPlan plan_of(const AttentionShape& shape, const char* variant = "hyla") {
  return *plan_gpu_attention(shape, attention_variant(variant), GpuArithmetic::kBf16, false, false,
                             by_shape());
}

/// Keeps the grids of launches, and runs nothing.
struct Grids {
  std::vector<emulated::Grid> seen;
  template <typename Kernel>
  void launch(const emulated::Grid& grid, const Kernel& /*kernel*/) {
    seen.push_back(grid);
  }
};

}  // namespace

TEST_CASE("Large layers of a million queries fit the grid of a device", "[not_sanitized]") {
  for (const char* variant : {"hyla", "softmax_hyla"}) {
    const AttentionShape shape = {3, 8, Index{1} << 20, 1024, 16, 32};
    const GpuAttentionPlan plan = plan_of(shape, variant);
    REQUIRE(plan.kernel == GpuAttentionKernel::kLarge);
    const auto x = emulated::arguments_of<Bf16>(shape, attention_variant(variant));
    Grids grids;
    emulated::launch_large_forward(grids, plan, x);
    CHECK(grids.seen.size() == 1);
    CHECK(grids.seen[0].x == 3 * 65536);  // a block for each 16 queries
    emulated::launch_large_backward(grids, plan, x, {});
    CHECK(grids.seen.size() > 2);
    for (const emulated::Grid& grid : grids.seen) {
      CHECK(grid.x > 0);
      CHECK(grid.y <= 65535);
    }
  }
}

TEST_CASE("The memory of large layers is linear in the tokens", "[not_sanitized]") {
  const auto floats = [](Index tokens) {
    return plan_of({8, 8, tokens, tokens, 64, 64}).over_keys;
  };
  CHECK(floats(1024) == 8 * 1024 * 1024 * 4);  // 16 bytes a pair, below the bound
  CHECK(floats(4096) <= (Index{1} << 26) + 8 * 4096 * 8 * 128);
  // Beyond it 256 queries at a time, and sums of keys and values.
  CHECK(floats(16384) == 8 * 16384 * (256 * 4 + 8 * 128));
  CHECK(floats(32768) == 2 * floats(16384));
}

TEST_CASE("The model of the time of large layers counts what they do", "[not_sanitized]") {
  const headway::training::GpuAttentionLayer layer = {
      {8, 8, 1024, 1024, 64, 64}, attention_variant("hyla"), GpuArithmetic::kBf16};
  const GpuAttentionPlan plan = plan_of(layer.shape);
  const auto work = headway::training::count_multiply_adds(layer.shape, layer.options);
  const auto forward = gpu_attention_time(layer, plan, GpuAttentionPass::kForward, by_shape());
  const auto backward = gpu_attention_time(layer, plan, GpuAttentionPass::kBackward, by_shape());
  for (const auto& t : {forward, backward}) {
    CHECK(t.warps == 16.0);  // two blocks fit beside each other
    CHECK(t.ms > 0.0);
  }
  CHECK(forward.launches == 1);
  CHECK(backward.launches == 2);
  CHECK(forward.flops >= 2.0 * work.forward);
  CHECK(backward.flops >= 2.0 * (work.backward + work.recomputed));
  CHECK(backward.flops < 2.2 * (work.backward + work.recomputed));
  CHECK(backward.ms > forward.ms);
  const headway::training::GpuAttentionLayer softmax = {
      layer.shape, attention_variant("softmax_hyla"), layer.arithmetic};
  const auto longer = gpu_attention_time(softmax, plan_of(layer.shape, "softmax_hyla"),
                                         GpuAttentionPass::kBackward, by_shape());
  CHECK(longer.launches == 3);
  CHECK(longer.ms > 1.3 * backward.ms);
}
