#include "attention_checks.hpp"
#include "attention_problems.hpp"
#include "catch.hpp"
#include "headway/training/attention.hpp"

using namespace headway::testing;  // NOLINT: a test
using headway::Index;
using headway::training::Normalisation;

namespace {

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
    for (const AttentionCase& c : attention_shapes()) {
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
    for (const Index batch : {3, 20}) {
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
                                        {{outputs.output, outputs.log_sum_exp}, p.d_output.data()},
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
    headway::training::detail::backward_with(plan, p.shape, options, p.inputs(),
                                             {{}, p.d_output.data()}, gradients);
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
