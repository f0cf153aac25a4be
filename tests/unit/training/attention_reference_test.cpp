#include "training/attention/attention_reference.hpp"

#include "attention_problems.hpp"
#include "catch.hpp"

using namespace headway::testing;  // NOLINT: a test
using headway::Index;
using headway::training::Nonlinearity;

namespace {

double scalar_of(const AttentionProblem<double>& p) {
  AttentionAnswer<double> answer(p);
  headway::training::reference::attention_forward(p.shape, p.options, p.inputs(), answer.outputs());
  double sum = 0.0;
  for (std::size_t i = 0; i < answer.output.size(); ++i) sum += p.d_output[i] * answer.output[i];
  return sum;
}

// Central differences of sum d_output . output in every number of one array.
std::vector<double> differences(const AttentionProblem<double>& p,
                                std::vector<double> AttentionProblem<double>::*array) {
  constexpr double kStep = 1e-6;
  AttentionProblem<double> moved = p;
  std::vector<double> result;
  for (double& x : moved.*array) {
    const double before = x;
    x = before + kStep;
    const double up = scalar_of(moved);
    x = before - kStep;
    result.push_back((up - scalar_of(moved)) / (2.0 * kStep));
    x = before;
  }
  return result;
}

}  // namespace

TEST_CASE("The reference's gradients are those of finite differences, for every variant") {
  struct Case {
    AttentionShape shape;
    AttentionExtras extras;
    bool causal;
  };
  const std::vector<Case> cases = {{{1, 3, 3, 3, 2, 3}, {true, false, false}, false},
                                   {{2, 2, 3, 4, 3, 2}, {true, true, true}, true}};
  for (auto [name, options] : attention_cases()) {
    for (const Case& c : cases) {
      INFO(name << " causal " << c.causal);
      options.causal = c.causal;
      const AttentionProblem<double> p = attention_problem(c.shape, options, c.extras, 2);
      const AttentionAnswer<double> answer = reference_answer(p);
      using Problem = AttentionProblem<double>;
      CHECK(relative_distance(answer.d_query, differences(p, &Problem::query)) < 1e-7);
      CHECK(relative_distance(answer.d_key, differences(p, &Problem::key)) < 1e-7);
      CHECK(relative_distance(answer.d_value, differences(p, &Problem::value)) < 1e-7);
      CHECK(relative_distance(answer.d_bias, differences(p, &Problem::bias)) < 1e-7);
      CHECK(relative_distance(answer.d_mixing, differences(p, &Problem::mixing)) < 1e-7);
    }
  }
}

TEST_CASE("Softmax attention of one query is the one computed by hand") {
  AttentionProblem<double> p;
  p.shape = {1, 1, 1, 2, 4, 1};
  p.query = {1, 1, 1, 1};
  p.key = {1, 1, 0, 0, 0, 0, 0, 0};  // scores 2 / sqrt(4) = 1 and 0
  p.value = {3, 5};
  p.d_output = {1};
  const AttentionAnswer<double> answer = reference_answer(p);
  const double e = std::exp(1.0);
  CHECK_THAT(answer.output[0], Catch::Matchers::WithinRel((3 * e + 5) / (e + 1), 1e-14));
  CHECK_THAT(answer.log_sum_exp[0], Catch::Matchers::WithinRel(std::log(e + 1), 1e-14));
}

TEST_CASE("Hypernetwork attention of one query is the one computed by hand") {
  AttentionProblem<double> p;
  p.options = headway::training::attention_variant("hyla");
  p.shape = {1, 2, 1, 1, 1, 1};
  p.query = {1, 1};
  p.key = {3, -4};  // RMSHead: mean square 12.5
  p.value = {2, 1};
  p.d_output = {1, 1};
  const double r = 1.0 / std::sqrt(12.5 + 1e-6);
  const double u = (3 * 2 - 4 * 1) * r;
  const AttentionAnswer<double> answer = reference_answer(p);
  CHECK_THAT(answer.output[0], Catch::Matchers::WithinRel(3 * r * u, 1e-14));
  CHECK_THAT(answer.output[1], Catch::Matchers::WithinRel(-4 * r * u, 1e-14));
}

TEST_CASE("Derivatives of nonlinearities are those of finite differences") {
  using Catch::Matchers::WithinAbs;
  using headway::training::reference::nonlinearity;
  using headway::training::reference::nonlinearity_derivative;
  CHECK(nonlinearity(Nonlinearity::kRelu, -2.0) == 0.0);
  CHECK(nonlinearity(Nonlinearity::kRelu, 3.0) == 3.0);
  CHECK(nonlinearity(Nonlinearity::kSquaredRelu, 3.0) == 9.0);
  CHECK_THAT(nonlinearity(Nonlinearity::kGelu, 1.0), WithinAbs(0.841192, 1e-6));
  CHECK_THAT(nonlinearity(Nonlinearity::kSilu, 1.0),
             WithinAbs(1.0 / (1.0 + std::exp(-1.0)), 1e-15));
  for (const std::string& name : headway::training::nonlinearity_names()) {
    const Nonlinearity phi = headway::training::parse_nonlinearity(name);
    for (const double x : {-3.0, -0.7, 0.2, 0.9, 4.0}) {
      INFO(name << " at " << x);
      const double slope = (nonlinearity(phi, x + 1e-6) - nonlinearity(phi, x - 1e-6)) / 2e-6;
      CHECK_THAT(nonlinearity_derivative(phi, x), WithinAbs(slope, 1e-8));
    }
  }
}
