#include "headway/training/attention_variant.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "attention_problems.hpp"
#include "catch.hpp"
#include "headway/core/nearest_word.hpp"
#include "headway/error.hpp"
#include "training/kernels/cpu/attention_kernels.hpp"

using namespace headway::training;  // NOLINT: a test
using Catch::Matchers::ContainsSubstring;
using headway::Error;
using headway::ErrorKind;
using headway::Index;

TEST_CASE("Every variant has options of its own, and is not causal unless that is asked for") {
  REQUIRE(attention_variant_names().size() >= 10);
  std::vector<AttentionOptions> seen;
  for (const std::string& name : attention_variant_names()) {
    INFO(name);
    const AttentionOptions options = attention_variant(name);
    CHECK_FALSE(options.causal);
    CHECK(std::find(seen.begin(), seen.end(), options) == seen.end());
    seen.push_back(options);
  }
}

TEST_CASE("The variants of the paper are made of the parts that their names say") {
  const std::vector<std::string> names = {"softmax",
                                          "linear",
                                          "linear_rms_head",
                                          "hyla",
                                          "hyla_linear_value",
                                          "hyla_no_rms_head",
                                          "hyla_linear_value_no_rms_head",
                                          "softmax_hyla",
                                          "linear_rms_head_nonlinear_value",
                                          "hyla_deep"};
  for (const std::string& name : names) {
    INFO(name);
    const AttentionOptions options = attention_variant(name);
    CHECK((options.value_network != ValueNetwork::kPlain) ==
          (name.find("hyla") != std::string::npos));
    const bool rms = options.normalisation == Normalisation::kRmsHead;
    CHECK(rms == (name.find("rms_head") != std::string::npos
                      ? name.find("no_rms_head") == std::string::npos
                      : name.rfind("hyla", 0) == 0));
    CHECK((options.normalisation == Normalisation::kSoftmax) == (name.rfind("softmax", 0) == 0));
  }
}

TEST_CASE("An unknown name is an error that offers the nearest one") {
  CHECK_THROWS_WITH(attention_variant("hyla_linear_valu"),
                    ContainsSubstring("train.attention = \"hyla_linear_valu\"") &&
                        ContainsSubstring("did you mean \"hyla_linear_value\"") &&
                        ContainsSubstring("softmax_hyla"));
  CHECK_THROWS_WITH(parse_nonlinearity("gellu"), ContainsSubstring("did you mean \"gelu\""));
  CHECK_THROWS_WITH(attention_variant("qqqqqqqqqqqqqqqqqqqqqqqq"),
                    !ContainsSubstring("did you mean"));
  try {
    attention_variant("");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
  }
  for (const std::string& name : nonlinearity_names()) CHECK_NOTHROW(parse_nonlinearity(name));
}

TEST_CASE("The nearest word counts insertions, deletions, replacements and swaps") {
  CHECK(headway::edit_distance("hyla", "hyla") == 0);
  CHECK(headway::edit_distance("hyla", "hlya") == 1);
  CHECK(headway::edit_distance("kitten", "sitting") == 3);
  CHECK(headway::nearest_word("sofmax", {"linear", "softmax"}) == "softmax");
  CHECK(headway::nearest_word("zzz", {"linear", "softmax"}).empty());
}

TEST_CASE("Visible pairs are those of the mask") {
  const AttentionShape square{1, 1, 4, 4, 1, 1};
  CHECK(square.visible_pairs(false) == 16);
  CHECK(square.visible_pairs(true) == 10);
  CHECK(AttentionShape{1, 1, 2, 4, 1, 1}.visible_pairs(true) == 3 + 4);
  CHECK(AttentionShape{1, 1, 4, 2, 1, 1}.visible_pairs(true) == 1 + 2);
}

TEST_CASE("Multiply-adds are counted as the table says") {
  const AttentionShape n{2, 3, 5, 7, 4, 6};
  const double pairs = 2 * 3 * 5 * 7;
  CHECK(count_multiply_adds(n, attention_variant("softmax")).forward == pairs * 10);
  CHECK(count_multiply_adds(n, attention_variant("linear")).backward == pairs * 20);
  CHECK(count_multiply_adds(n, attention_variant("hyla")).forward == pairs * 16);
  CHECK(count_multiply_adds(n, attention_variant("hyla")).backward == pairs * 32);
  CHECK(count_multiply_adds(n, attention_variant("hyla")).recomputed == pairs * 10);
  CHECK(count_multiply_adds(n, attention_variant("hyla_deep")).forward == pairs * (4 + 18 + 36));
  CHECK(count_multiply_adds(n, attention_variant("softmax_hyla")).recomputed >
        count_multiply_adds(n, attention_variant("hyla")).recomputed);
  AttentionOptions causal = attention_variant("linear");
  causal.causal = true;
  CHECK(count_multiply_adds({1, 1, 4, 4, 1, 1}, causal).forward == 20);
}

TEST_CASE("The lanes of a vector are examples where these fill it as well as queries do") {
  const AttentionOptions options = attention_variant("hyla");
  const auto are_examples = [&](const AttentionShape& shape) {
    return detail::choose_lane_axis(shape, options, 8) == detail::LaneAxis::kExamples;
  };
  const auto few = [&](Index batch, Index queries) {
    return are_examples({batch, 2, queries, 20, 4, 4});
  };
  CHECK(few(8, 8));
  CHECK(few(8, 9));  // 8 of 8 lanes, or 9 of 16
  CHECK_FALSE(few(9, 8));
  CHECK(few(9, 9));
  CHECK(few(7, 5));
  CHECK_FALSE(few(5, 7));
  CHECK_FALSE(few(1, 16));
  // Above 2^20 numbers in lanes examples count 0.6: 1003 * 128 + 14 * 192 numbers, times 8.
  CHECK(are_examples({8, 1, 14, 1003, 64, 64}));
  CHECK_FALSE(are_examples({8, 1, 14, 1004, 64, 64}));
  CHECK(are_examples({8, 1, 9, 2000, 64, 64}));  // 9 of 16 lanes are fewer
}

TEST_CASE("Workspace is linear in the number of tokens") {
  for (const std::string& name : attention_variant_names()) {
    for (const Index batch : {1, 64}) {
      const auto bytes = [&](Index tokens) {
        return static_cast<double>(attention_workspace_bytes(
            {batch, 8, tokens, tokens, 16, 16}, attention_variant(name), false, false, 1));
      };
      INFO(name << " batch " << batch);
      CHECK(bytes(4096) < 2.001 * bytes(2048));
      CHECK(bytes(4096) > bytes(2048));
      // Less than the scores of a single head of the example.
      if (batch == 1) CHECK(bytes(8192) < 4.0 * 8192 * 8192);
    }
  }
}

// Of the kernels that every machine has, four lanes wide. The numbers grow where a kernel takes
// more.
TEST_CASE("The workspace of a thread is what the kernels need, and no more") {
  const detail::AttentionKernels& kernels = detail::baseline_attention_kernels();
  float something = 0.0F;
  const std::uint8_t mask = 1;
  const auto vectors = [&](const char* name, detail::LaneAxis axis, bool more) {
    detail::AttentionJob job;
    job.shape = {9, 3, 21, 26, 5, 6};
    job.options = attention_variant(name);
    job.axis = axis;
    job.heads = 3;
    job.examples = axis == detail::LaneAxis::kExamples ? 4 : 1;
    job.units = axis == detail::LaneAxis::kExamples ? 21 : 6;
    if (more) {
      job.dropout = job.d_bias = &something;
      job.inputs.key_mask = &mask;
    }
    return std::pair(kernels.forward_workspace(job) / 4, kernels.backward_workspace(job) / 4);
  };
  using Axis = detail::LaneAxis;
  std::string found;
  for (const char* name :
       {"softmax", "linear_rms_head_nonlinear_value", "hyla", "softmax_hyla", "hyla_deep"}) {
    found += std::string(name) + ":";
    for (const auto axis : {Axis::kExamples, Axis::kQueries}) {
      for (const bool more : {false, true}) {
        const auto [forward, backward] = vectors(name, axis, more);
        found += fmt::format(" {} {}", forward, backward);
      }
    }
    found += "\n";
  }
  CHECK(found ==
        "softmax: 1174 2548 1200 2694 158 752 158 812\n"
        "linear_rms_head_nonlinear_value: 1174 2454 1200 2504 275 849 275 861\n"
        "hyla: 1286 2562 1312 2600 350 1116 350 1128\n"
        "softmax_hyla: 1286 2672 1312 2758 350 1136 350 1196\n"
        "hyla_deep: 1382 2958 1408 2996 446 1512 446 1524\n");
}

TEST_CASE("Every bad argument is an error that names it") {
  using headway::testing::AttentionAnswer;
  using headway::testing::AttentionProblem;
  using Problem = AttentionProblem<float>;
  const auto message = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      return error.what();
    }
    return "no error";
  };
  const Problem good = headway::testing::in_floats(
      headway::testing::attention_problem({2, 2, 3, 3, 2, 2}, attention_variant("softmax"), {}, 1));
  const auto forward = [&](const AttentionShape& shape, const AttentionOptions& options,
                           const AttentionInputs<float>& inputs,
                           const AttentionOutputs<float>& outputs) {
    return message([&] { attention_forward(shape, options, inputs, outputs); });
  };
  AttentionAnswer<float> answer(good);
  const AttentionOutputs<float> out = answer.outputs();
  CHECK(forward(good.shape, good.options, good.inputs(), out) == "no error");
  using Size = std::pair<const char*, Index AttentionShape::*>;
  for (const auto& [name, size] :
       {Size{"batch", &AttentionShape::batch}, Size{"heads", &AttentionShape::heads},
        Size{"queries", &AttentionShape::queries}, Size{"keys", &AttentionShape::keys},
        Size{"query_dim", &AttentionShape::query_dim},
        Size{"value_dim", &AttentionShape::value_dim}}) {
    for (const Index bad : {Index{0}, Index{-1}, (Index{1} << 20) + 1}) {
      AttentionShape shape = good.shape;
      shape.*size = bad;
      CHECK(forward(shape, good.options, good.inputs(), out) ==
            fmt::format("attention: {} = {}: must be from 1 to 1048576", name, bad));
    }
    AttentionShape largest;
    largest.*size = Index{1} << 20;
    CHECK_NOTHROW(largest.validate());
  }
  CHECK(forward({1 << 20, 1 << 10, 1 << 15, 1, 1, 1}, good.options, good.inputs(), out) ==
        "attention: batch 1048576 x tokens 32768 x heads 1024 x dims 1: at most 2^40 numbers");
  CHECK(forward({1 << 10, 1 << 10, 1, 1 << 15, 3, 65}, good.options, good.inputs(), out) ==
        "attention: batch 1024 x tokens 32768 x heads 1024 x dims 65: at most 2^40 numbers");
  CHECK_NOTHROW(AttentionShape{1 << 10, 1 << 10, 1, 1 << 15, 32, 32}.validate());
  AttentionInputs<float> inputs = good.inputs();
  inputs.value = nullptr;
  CHECK_THAT(forward(good.shape, good.options, inputs, out), ContainsSubstring("value is null"));
  CHECK_THAT(forward(good.shape, good.options, good.inputs(), {out.output, nullptr}),
             ContainsSubstring("log_sum_exp is null"));
  CHECK_THAT(forward(good.shape, attention_variant("linear"), good.inputs(), out),
             ContainsSubstring("log_sum_exp is given"));
  CHECK_THAT(forward(good.shape, attention_variant("hyla_deep"), good.inputs(), {out.output}),
             ContainsSubstring("mixing is null"));
  inputs = good.inputs();
  inputs.mixing = good.value.data();
  CHECK_THAT(forward(good.shape, good.options, inputs, out), ContainsSubstring("mixing is given"));
  const auto backward = [&](const AttentionOutputs<const float>& outputs, const float* d_output,
                            const AttentionGradients<float>& gradients) {
    return message([&] {
      attention_backward(good.shape, good.options, good.inputs(), {outputs, d_output}, gradients);
    });
  };
  const AttentionGradients<float> gradients = answer.gradients();
  const float* d_output = good.d_output.data();
  CHECK(backward({out.output, out.log_sum_exp}, d_output, gradients) == "no error");
  CHECK_THAT(backward({nullptr, out.log_sum_exp}, d_output, gradients),
             ContainsSubstring("output is null"));
  CHECK_THAT(backward({out.output, out.log_sum_exp}, nullptr, gradients),
             ContainsSubstring("d_output is null"));
  AttentionGradients<float> with_bias = gradients;
  with_bias.bias = answer.d_value.data();
  CHECK_THAT(backward({out.output, out.log_sum_exp}, d_output, with_bias),
             ContainsSubstring("gradients.bias is given"));
}
