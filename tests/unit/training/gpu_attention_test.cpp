// Not for sanitizers: the emulator checks every access, barrier and race itself.
#include "attention_checks.hpp"
#include "catch.hpp"
#include "emulated_attention.hpp"

using namespace headway::testing;  // NOLINT: a test
using headway::Index;
using headway::Rng;
using headway::StreamPurpose;
using headway::training::attention_variant;
using headway::training::GpuArithmetic;
using headway::training::GpuDevice;
using headway::training::Normalisation;
using headway::training::plan_gpu_attention;

namespace {

// Little shared memory: many tiles and slices even of a small layer.
constexpr GpuDevice kSmallDevice = {4, 12000, 40000};

// Of gradients: a case with two heads, whose norm is at times nearly 0, magnifies the last bit.
constexpr double kSmooth = 2e-5;

AttentionProblem<float> problem(const char* variant, const AttentionShape& shape,
                                const AttentionExtras& extras, bool causal = false) {
  AttentionOptions options = attention_variant(variant);
  options.causal = causal;
  return in_floats(attention_problem(shape, options, extras, 3));
}

std::string name_of(const std::string& variant, const AttentionCase& c) {
  return fmt::format("{}: B {} H {} Sq {} Sk {} d {} dv {}, bias {} mask {} dropout {} causal {}",
                     variant, c.shape.batch, c.shape.heads, c.shape.queries, c.shape.keys,
                     c.shape.query_dim, c.shape.value_dim, c.extras.bias, c.extras.mask,
                     c.extras.dropout, c.causal);
}

}  // namespace

TEST_CASE("The GPU kernels give the reference's outputs and gradients, for every variant",
          "[not_sanitized]") {
  for (auto [name, options] : attention_cases()) {
    for (const AttentionCase& c : attention_shapes()) {
      INFO(name_of(name, c));
      options.causal = c.causal;
      const auto p = in_floats(attention_problem(c.shape, options, c.extras, 3));
      const AttentionAnswer<double> exact = reference_answer(in_doubles(p));
      check_answer(p, emulated_answer(p), exact, kSmooth);
      if (c.shape.batch * c.shape.queries * c.shape.keys < 2000) {
        check_answer(p, emulated_answer(p, {.device = kSmallDevice, .most_groups = 2}), exact,
                     kSmooth);
      }
    }
  }
}

TEST_CASE("The GPU kernels are right for every number of tokens up to 40", "[not_sanitized]") {
  for (const char* name : {"softmax", "linear_rms_head", "hyla"}) {
    for (Index tokens = 1; tokens <= 40; ++tokens) {
      INFO(name << ", " << tokens << " tokens");
      const auto p = problem(name, {2, 2, tokens, tokens, 3, 2}, {tokens % 2 == 0, false, false},
                             tokens % 3 == 0);
      check_answer(p, emulated_answer(p, {.device = kSmallDevice}),
                   reference_answer(in_doubles(p)));
    }
  }
}

// Operands of 11 (TF32) or 8 bits have errors of up to 2^-11 or 2^-8 each. RMSHead of few heads
// that nearly cancel, and jumps of a derivative, make the errors larger.
TEST_CASE("On tensor cores the GPU kernels are as exact as their operands", "[not_sanitized]") {
  for (const char* name : {"softmax", "linear", "hyla_linear_value_no_rms_head", "softmax_hyla",
                           "hyla", "hyla_deep"}) {
    for (const bool causal : {false, true}) {
      AttentionProblem<float> p = problem(name, {2, 9, 35, 17, 20, 18}, {true, true, true}, causal);
      if (p.options.nonlinearity == headway::training::Nonlinearity::kRelu) {
        p.options.nonlinearity = headway::training::Nonlinearity::kSilu;
      }
      const AttentionAnswer<double> exact = reference_answer(in_doubles(p));
      for (const auto& [arithmetic, unit] :
           {std::pair{GpuArithmetic::kTf32, 0x1p-11}, std::pair{GpuArithmetic::kBf16, 0x1p-8}}) {
        INFO(name << " causal " << causal << " unit " << unit);
        const auto a = emulated_answer(p, {.arithmetic = arithmetic});
        CHECK(relative_distance(a.output, exact.output) < 3 * unit);
        CHECK(relative_distance(a.output, exact.output) > 0.1 * unit);  // it does round
        CHECK(relative_distance(a.log_sum_exp, exact.log_sum_exp) < 3 * unit);
        CHECK(relative_distance(a.d_query, exact.d_query) < 8 * unit);
        CHECK(relative_distance(a.d_key, exact.d_key) < 8 * unit);
        CHECK(relative_distance(a.d_value, exact.d_value) < 4 * unit);
        CHECK(relative_distance(a.d_bias, exact.d_bias) < 8 * unit);
        CHECK(relative_distance(a.d_mixing, exact.d_mixing) < 8 * unit);
      }
    }
  }
}

TEST_CASE("Dropout drawn in the GPU kernels is that of the random streams, bit for bit",
          "[not_sanitized]") {
  for (const char* name : {"softmax", "hyla", "softmax_hyla"}) {
    const Index tokens = 9;
    const Index first = 2;  // of queries, as when a layer's first queries are not wanted
    const double rate = 0.3;
    const std::uint64_t seed = 0x123456789ABCDEFULL;
    const std::uint64_t index = (std::uint64_t{7} << 32U) + 5;
    AttentionProblem<float> p = problem(name, {2, 2, tokens - first, tokens, 3, 2}, {});
    const EmulatedSettings drawn = {.drawn = {{seed, index, rate, tokens, first, 0}}};
    const AttentionAnswer<float> answer = emulated_answer(p, drawn);
    Rng rng(seed, StreamPurpose::kDropout, index);
    for (Index i = 0; i < tokens * tokens; ++i) {
      const bool dropped = rng.uniform() < rate;
      if (i >= first * tokens) {
        p.dropout.push_back(dropped ? 0.0F : static_cast<float>(1.0 / (1.0 - rate)));
      }
    }
    INFO(name);
    CHECK(answer == emulated_answer(p));
  }
}

TEST_CASE("The GPU kernels leave out the gradient of the bias where it is not wanted",
          "[not_sanitized]") {
  const auto p = problem("hyla", {3, 2, 5, 5, 4, 4}, {true, false, false});
  const auto with = emulated_answer(p);
  const auto without = emulated_answer(p, {.bias_gradient = false});
  CHECK(without.d_query == with.d_query);
  CHECK(without.d_key == with.d_key);
  CHECK(without.d_value == with.d_value);
  CHECK(without.d_bias == std::vector<float>(p.bias.size(), 7));
}

TEST_CASE("A NaN in the input of the GPU kernels is one in the output", "[not_sanitized]") {
  for (const auto& [name, options] : attention_cases()) {
    AttentionProblem<float> p = in_floats(attention_problem({2, 2, 5, 5, 4, 4}, options, {}, 5));
    for (std::vector<float>* array : {&p.query, &p.key, &p.value}) {
      const float before = array->front();
      array->front() = std::nanf("");
      INFO(name);
      for (const auto kind :
           {GpuArithmetic::kFloat32, GpuArithmetic::kTf32, GpuArithmetic::kBf16}) {
        CHECK(std::isnan(emulated_answer(p, {.arithmetic = kind}).output.front()));
      }
      array->front() = before;
    }
  }
}

TEST_CASE("The plan of a layer fits the device, and its memory is linear in the tokens",
          "[not_sanitized]") {
  const GpuDevice h100;
  for (const auto& attention : attention_cases()) {
    INFO(attention.first);
    const AttentionOptions& options = attention.second;
    const bool deep = has_mixing(options.value_network);
    for (const auto kind : {GpuArithmetic::kFloat32, GpuArithmetic::kBf16}) {
      const auto plan_of = [&](const AttentionShape& shape) {
        return plan_gpu_attention(shape, options, kind, false, true, h100);
      };
      CHECK(plan_of({128, 16, 36, 36, 4, 4}).has_value());  // the sizes of the reference studies
      CHECK(plan_of({128, 8, 32, 32, 16, 16}).has_value());
      const auto half = plan_of({8, 8, 2048, 2048, 64, 64});
      const auto whole = plan_of({8, 8, 4096, 4096, 64, 64});
      REQUIRE(half.has_value());
      REQUIRE(whole.has_value());
      for (const auto* sizes : {&whole->forward, &whole->sums, &whole->backward}) {
        CHECK(sizes->shared_bytes <= h100.block_shared_bytes);
      }
      CHECK(whole->query_sums <= 16 * Index{8} * 4096 * 8 * 64);
      CHECK(whole->query_sums <= 2 * half->query_sums);
      CHECK(whole->over_keys == 2 * half->over_keys);
      CHECK((whole->mixing_sums > 0) == deep);
      CHECK(whole->mixing_sums <= Index{1} << 26);
      CHECK_FALSE(plan_of({1, 2, 8, 8, 65536, 65536}).has_value());  // no tile of one pair fits
    }
  }
}

TEST_CASE("Copies of the gradient of the bias stay within their bound", "[not_sanitized]") {
  const auto options = attention_variant("hyla");
  const auto plan = [&](Index tokens) {
    return plan_gpu_attention({64, 8, tokens, tokens, 64, 64}, options, GpuArithmetic::kBf16, true,
                              true);
  };
  CHECK(plan(128)->backward.groups == 64);
  CHECK(plan(1024)->backward.groups == 8);
  CHECK(plan(1024)->bias_sums == Index{1} << 26);
  CHECK(plan(8192)->backward.groups == 1);
}
