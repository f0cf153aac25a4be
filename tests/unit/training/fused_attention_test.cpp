#include "attention_problems.hpp"
#include "catch.hpp"
#include "headway/training/attention.hpp"

using namespace headway::testing;  // NOLINT: a test
using headway::Index;
using headway::training::Normalisation;

namespace {

struct Case {
  AttentionShape shape;
  AttentionExtras extras;
  bool causal;
};

// B, H, Sq, Sk, d, dv
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{2, 3, 5, 5, 4, 4}, {}, false},
      {{17, 2, 9, 9, 4, 4}, {true, false, false}, false},
      {{3, 5, 7, 7, 3, 5}, {true, true, true}, true},
      {{16, 4, 6, 11, 4, 2}, {true, true, false}, false},  // cross-attention
      {{5, 3, 20, 6, 1, 7}, {false, true, true}, true},    // queries that see no key
      {{2, 2, 18, 35, 5, 3}, {true, false, true}, true},
      {{1, 8, 33, 33, 16, 8}, {true, true, true}, false},
      {{19, 7, 4, 3, 2, 9}, {true, true, true}, false},
      {{4, 1, 6, 8, 3, 1}, {true, true, true}, false},
      {{2, 2, 70, 70, 6, 10}, {true, false, false}, true},
  };
  return list;
}

// Errors of single precision: a few units in the last place for each of some hundred additions, and
// where the derivative jumps at 0 one pair in 10^5 on the wrong side.
void check_answer(const AttentionProblem<float>& p, const AttentionAnswer<float>& fast,
                  const AttentionAnswer<double>& exact) {
  CHECK(relative_distance(fast.output, exact.output) < 3e-6);
  CHECK(relative_distance(fast.log_sum_exp, exact.log_sum_exp) < 1e-6);
  const bool jump = p.options.nonlinearity == headway::training::Nonlinearity::kRelu;
  const double tolerance = jump ? 1e-4 : 1e-5;
  // With one head RMSHead's weights are signs: the gradient of the scores cancels.
  const bool cancels = p.shape.heads == 1 && p.options.normalisation == Normalisation::kRmsHead;
  const double floor = cancels ? 30.0 : 1e-30;
  CHECK(relative_distance(fast.d_query, exact.d_query, floor) < tolerance);
  CHECK(relative_distance(fast.d_key, exact.d_key, floor) < tolerance);
  CHECK(relative_distance(fast.d_value, exact.d_value) < tolerance);
  CHECK(relative_distance(fast.d_bias, exact.d_bias, floor) < tolerance);
  CHECK(relative_distance(fast.d_mixing, exact.d_mixing) < tolerance);
}

void check_all_kernels(const AttentionShape& shape, AttentionOptions options,
                       const AttentionExtras& extras) {
  const AttentionProblem<float> p = in_floats(attention_problem(shape, options, extras, 3));
  const AttentionAnswer<double> exact = reference_answer(in_doubles(p));
  for (const auto& plan : attention_plans()) {
    INFO(plan.kernels->name << (plan.axis == headway::training::detail::LaneAxis::kExamples
                                    ? ", lanes over examples"
                                    : ", lanes over queries"));
    check_answer(p, fast_answer(p, plan), exact);
  }
}

}  // namespace

TEST_CASE("Every kernel gives the reference's outputs and gradients, for every variant") {
  for (auto [name, options] : attention_cases()) {
    for (const Case& c : cases()) {
      INFO(name << fmt::format(
               ": B {} H {} Sq {} Sk {} d {} dv {}, bias {} mask {} dropout {} causal {}",
               c.shape.batch, c.shape.heads, c.shape.queries, c.shape.keys, c.shape.query_dim,
               c.shape.value_dim, c.extras.bias, c.extras.mask, c.extras.dropout, c.causal));
      options.causal = c.causal;
      check_all_kernels(c.shape, options, c.extras);
    }
  }
}

TEST_CASE("Every number of tokens up to 70 is right") {
  for (const char* name : {"softmax", "linear_rms_head", "hyla"}) {
    for (Index tokens = 1; tokens <= 70; ++tokens) {
      INFO(name << ", " << tokens << " tokens");
      AttentionOptions options = headway::training::attention_variant(name);
      options.causal = tokens % 3 == 0;
      check_all_kernels({2, 2, tokens, tokens, 3, 2}, options, {tokens % 2 == 0, false, false});
    }
  }
}

TEST_CASE("The number of threads does not change a bit") {
  for (const auto& [name, options] : attention_cases()) {
    for (const Index batch : {3, 70}) {
      const AttentionProblem<float> p =
          in_floats(attention_problem({batch, 3, 37, 37, 4, 5}, options, {true, true, true}, 5));
      const auto one = attention_plans(1);
      const auto three = attention_plans(3);
      for (std::size_t i = 0; i < one.size(); ++i) {
        INFO(name << " " << one[i].kernels->name << " batch " << batch);
        CHECK(fast_answer(p, one[i]) == fast_answer(p, three[i]));
      }
    }
  }
}

TEST_CASE("The public functions take the best kernel, and the axis does not depend on threads") {
  const auto options = headway::training::attention_variant("softmax_hyla");
  const AttentionProblem<float> p =
      in_floats(attention_problem({9, 4, 12, 12, 4, 4}, options, {true, true, true}, 5));
  const AttentionAnswer<double> exact = reference_answer(in_doubles(p));
  AttentionAnswer<float> answer(p);
  const AttentionOutputs<float> outputs = answer.outputs();
  headway::training::attention_forward(p.shape, options, p.inputs(), outputs, 2);
  headway::training::attention_backward(p.shape, options, p.inputs(),
                                        {outputs.output, outputs.log_sum_exp}, p.d_output.data(),
                                        answer.gradients(), 1);
  check_answer(p, answer, exact);
}

TEST_CASE("The gradient of the bias is left out where it is not wanted") {
  const auto options = headway::training::attention_variant("hyla");
  const AttentionProblem<float> p =
      in_floats(attention_problem({3, 2, 5, 5, 4, 4}, options, {true, false, false}, 5));
  for (const auto& plan : attention_plans()) {
    const AttentionAnswer<float> with = fast_answer(p, plan);
    AttentionAnswer<float> without(p);
    AttentionGradients<float> gradients = without.gradients();
    gradients.bias = nullptr;
    headway::training::detail::backward_with(plan, p.shape, options, p.inputs(), {},
                                             p.d_output.data(), gradients);
    CHECK(without.d_query == with.d_query);
    CHECK(without.d_key == with.d_key);
    CHECK(without.d_value == with.d_value);
    CHECK(without.d_bias == std::vector<float>(p.bias.size(), 7));
  }
}

TEST_CASE("A NaN in the input is one in the output") {
  for (const auto& [name, options] : attention_cases()) {
    AttentionProblem<float> p = in_floats(attention_problem({2, 2, 5, 5, 4, 4}, options, {}, 5));
    for (std::vector<float>* array : {&p.query, &p.key, &p.value}) {
      const float before = array->front();
      array->front() = std::nanf("");
      for (const auto& plan : attention_plans()) {
        INFO(name << " " << plan.kernels->name);
        CHECK(std::isnan(fast_answer(p, plan).output.front()));
      }
      array->front() = before;
    }
  }
}
