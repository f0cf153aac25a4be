// What must hold between calls of the attention kernels, whatever their arithmetic.
#include <numeric>

#include "attention_problems.hpp"
#include "catch.hpp"

using namespace headway::testing;  // NOLINT: a test
using Catch::Matchers::WithinAbs;
using headway::Index;
using headway::training::attention_variant;

namespace {

using Floats = std::vector<float>;

// array [outer, H, inner] with head permutation[h] in the place of head h.
Floats permuted(const Floats& array, Index inner, const std::vector<Index>& permutation) {
  const auto heads = static_cast<Index>(permutation.size());
  Floats result(array.size());
  for (Index i = 0; i < static_cast<Index>(array.size()); ++i) {
    const Index head = permutation[static_cast<std::size_t>(i / inner % heads)];
    result[static_cast<std::size_t>(i)] =
        array[static_cast<std::size_t>((i / inner / heads * heads + head) * inner + i % inner)];
  }
  return result;
}

AttentionProblem<float> permuted(AttentionProblem<float> p, const std::vector<Index>& order) {
  const AttentionShape& n = p.shape;
  p.query = permuted(p.query, n.query_dim, order);
  p.key = permuted(p.key, n.query_dim, order);
  p.value = permuted(p.value, n.value_dim, order);
  p.d_output = permuted(p.d_output, n.value_dim, order);
  p.bias = permuted(p.bias, n.queries * n.keys, order);
  p.mixing = permuted(p.mixing, n.value_dim * n.value_dim, order);
  return p;
}

// Weights a[h][k] of query q of example b, recovered by a plain network whose values are one-hot in
// the key.
std::vector<double> latent_code(const AttentionProblem<float>& p,
                                const headway::training::detail::AttentionPlan& plan) {
  AttentionProblem<float> probe = p;
  probe.shape.value_dim = p.shape.keys;
  probe.options.value_network = headway::training::ValueNetwork::kPlain;
  probe.options.nonlinearity = headway::training::Nonlinearity::kIdentity;
  const Index rows = p.shape.batch * p.shape.keys * p.shape.heads;
  probe.value.assign(static_cast<std::size_t>(rows * p.shape.keys), 0.0F);
  for (Index row = 0; row < rows; ++row) {
    const Index key = row / p.shape.heads % p.shape.keys;
    probe.value[static_cast<std::size_t>(row * p.shape.keys + key)] = 1.0F;
  }
  probe.d_output.assign(
      static_cast<std::size_t>(p.shape.batch * p.shape.queries * p.shape.heads * p.shape.keys), 1);
  return converted<double>(fast_answer(probe, plan).output);  // [B, Sq, H, Sk]
}

}  // namespace

TEST_CASE("Softmax attention is a hypernetwork: its code generates the value matrix of a pair") {
  // W_out sum_h a_h V_h x = sum_k (sum_h a[h, q, k] W_out_h V_h) x_k ([S25] equation 3)
  const Index heads = 3;
  const Index keys = 6;
  const Index model_dim = 5;
  const Index dv = 4;
  headway::Rng rng(8, headway::StreamPurpose::kTests);
  const auto x = normals(&rng, keys * model_dim);
  const auto v = normals(&rng, heads * dv * model_dim);    // V_h
  const auto out = normals(&rng, heads * model_dim * dv);  // W_out_h
  AttentionProblem<float> p =
      in_floats(attention_problem({1, heads, 2, keys, 3, dv}, attention_variant("softmax"), {}));
  for (Index k = 0; k < keys; ++k) {
    for (Index row = 0; row < heads * dv; ++row) {
      double sum = 0.0;
      for (Index c = 0; c < model_dim; ++c) sum += v[row * model_dim + c] * x[k * model_dim + c];
      p.value[static_cast<std::size_t>(k * heads * dv + row)] = static_cast<float>(sum);
    }
  }
  for (const auto& plan : attention_plans()) {
    const auto code = latent_code(p, plan);
    const Floats o = fast_answer(p, plan).output;
    for (Index q = 0; q < 2; ++q) {
      for (Index r = 0; r < model_dim; ++r) {
        double projected = 0.0;
        double generated = 0.0;
        for (Index h = 0; h < heads; ++h) {
          for (Index e = 0; e < dv; ++e) {
            const double w_out = out[(h * model_dim + r) * dv + e];
            projected += w_out * o[(q * heads + h) * dv + e];
            for (Index k = 0; k < keys; ++k) {
              for (Index c = 0; c < model_dim; ++c) {
                generated += code[(q * heads + h) * keys + k] * w_out *
                             v[(h * dv + e) * model_dim + c] * x[k * model_dim + c];
              }
            }
          }
        }
        CHECK_THAT(projected, WithinAbs(generated, 1e-5));
      }
    }
  }
}

TEST_CASE("hyla_linear_value is the double sum over heads") {
  for (const char* name : {"hyla_linear_value", "hyla_linear_value_no_rms_head"}) {
    const AttentionShape n{2, 3, 4, 5, 2, 3};
    const AttentionProblem<float> p =
        in_floats(attention_problem(n, attention_variant(name), {true, true, false}));
    for (const auto& plan : attention_plans()) {
      const auto code = latent_code(p, plan);
      std::vector<double> sums;
      for (Index row = 0; row < n.batch * n.queries * n.heads; ++row) {
        const Index b = row / (n.queries * n.heads);
        for (Index e = 0; e < n.value_dim; ++e) {
          double sum = 0.0;
          for (Index other = 0; other < n.heads; ++other) {
            const Index other_row = row / n.heads * n.heads + other;
            for (Index k = 0; k < n.keys; ++k) {
              sum += code[row * n.keys + k] * code[other_row * n.keys + k] *
                     p.value[((b * n.keys + k) * n.heads + other) * n.value_dim + e];
            }
          }
          sums.push_back(sum);
        }
      }
      CHECK(relative_distance(fast_answer(p, plan).output, sums) < 1e-5);
    }
  }
}

TEST_CASE("Relabelling heads relabels the answer") {
  const AttentionShape n{17, 5, 6, 7, 3, 4};
  const std::vector<Index> order = {3, 0, 4, 1, 2};
  for (const auto& [name, options] : attention_cases()) {
    const AttentionProblem<float> p =
        in_floats(attention_problem(n, options, {true, true, true}, 4));
    for (const auto& plan : attention_plans()) {
      INFO(name << " " << plan.kernels->name);
      const AttentionAnswer<float> before = fast_answer(p, plan);
      const AttentionAnswer<float> after = fast_answer(permuted(p, order), plan);
      CHECK(relative_distance(after.output, permuted(before.output, n.value_dim, order)) < 3e-6);
      CHECK(relative_distance(after.d_query, permuted(before.d_query, n.query_dim, order)) < 1e-4);
      CHECK(relative_distance(after.d_key, permuted(before.d_key, n.query_dim, order)) < 1e-4);
      CHECK(relative_distance(after.d_value, permuted(before.d_value, n.value_dim, order)) < 1e-4);
      CHECK(relative_distance(after.d_bias, permuted(before.d_bias, n.queries * n.keys, order)) <
            1e-4);
    }
  }
}

TEST_CASE("Masked keys have no effect on any bit, and gradient zero") {
  const AttentionShape n{18, 3, 9, 10, 4, 4};
  for (const auto& [name, options] : attention_cases()) {
    const AttentionProblem<float> p =
        in_floats(attention_problem(n, options, {true, true, true}, 6));
    AttentionProblem<float> changed = p;
    headway::Rng rng(9, headway::StreamPurpose::kTests);
    for (Index row = 0; row < n.batch * n.keys; ++row) {
      if (p.mask[static_cast<std::size_t>(row)] != 0) continue;
      for (Index i = row * n.heads * 4; i < (row + 1) * n.heads * 4; ++i) {
        changed.key[static_cast<std::size_t>(i)] = static_cast<float>(100.0 * rng.normal());
        changed.value[static_cast<std::size_t>(i)] = static_cast<float>(100.0 * rng.normal());
      }
    }
    for (const auto& plan : attention_plans()) {
      INFO(name << " " << plan.kernels->name);
      const AttentionAnswer<float> answer = fast_answer(p, plan);
      CHECK(answer == fast_answer(changed, plan));
      bool zero = true;
      for (Index row = 0; row < n.batch * n.keys; ++row) {
        if (p.mask[static_cast<std::size_t>(row)] != 0) continue;
        for (Index i = row * n.heads * 4; i < (row + 1) * n.heads * 4; ++i) {
          zero = zero && answer.d_key[static_cast<std::size_t>(i)] == 0.0F &&
                 answer.d_value[static_cast<std::size_t>(i)] == 0.0F;
        }
      }
      CHECK(zero);
      // Example 1 sees nothing at all.
      const Index stride = n.queries * n.heads * n.value_dim;
      for (Index i = stride; i < 2 * stride; ++i) {
        CHECK(answer.output[static_cast<std::size_t>(i)] == 0.0F);
      }
    }
  }
}

TEST_CASE("A causal query does not see the future, and the last one sees everything") {
  const AttentionShape n{2, 2, 20, 20, 4, 4};
  constexpr Index kRow = 8;  // numbers of a token
  for (auto [name, options] : attention_cases()) {
    options.causal = true;
    const AttentionProblem<float> p = in_floats(attention_problem(n, options, {}, 6));
    AttentionProblem<float> changed = p;  // keys from 13 on
    AttentionProblem<float> uncovered = p;
    uncovered.options.causal = false;
    for (Index b = 0; b < 2; ++b) {
      for (Index i = (b * 20 + 13) * kRow; i < (b + 1) * 20 * kRow; ++i) {
        changed.key[static_cast<std::size_t>(i)] += 1.0F;
        changed.value[static_cast<std::size_t>(i)] -= 1.0F;
      }
    }
    for (const auto& plan : attention_plans()) {
      INFO(name << " " << plan.kernels->name);
      const Floats before = fast_answer(p, plan).output;
      const Floats after = fast_answer(changed, plan).output;
      CHECK(std::equal(before.begin(), before.begin() + 13 * kRow, after.begin()));
      CHECK_FALSE(std::equal(before.begin(), before.begin() + 14 * kRow, after.begin()));
      const Floats all = fast_answer(uncovered, plan).output;
      CHECK(relative_distance(Floats(before.end() - kRow, before.end()),
                              Floats(all.end() - kRow, all.end())) < 1e-6);
    }
  }
}

TEST_CASE("With one head RMSHead leaves only the sign of the score") {
  AttentionProblem<float> p = in_floats(
      attention_problem({20, 1, 7, 1, 3, 1}, attention_variant("linear_rms_head"), {}, 6));
  std::fill(p.value.begin(), p.value.end(), 1.0F);
  AttentionProblem<float> scores = p;
  scores.options = attention_variant("linear");
  for (const auto& plan : attention_plans()) {
    const Floats a = fast_answer(p, plan).output;
    const Floats s = fast_answer(scores, plan).output;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double square = static_cast<double>(s[i]) * s[i];
      CHECK_THAT(std::abs(a[i]), WithinAbs(1.0, 1e-6 + 0.5e-6 / square));
      CHECK((a[i] > 0.0F) == (s[i] > 0.0F));
    }
  }
}

TEST_CASE("Dropout multiplies the weights at both uses of a hypernetwork") {
  const AttentionShape n{2, 3, 4, 4, 2, 3};
  for (const auto& [variant, power] :
       {std::pair{"linear", 1}, std::pair{"hyla_linear_value", 2}, std::pair{"hyla", 2}}) {
    AttentionProblem<float> p = in_floats(attention_problem(n, attention_variant(variant), {}, 6));
    for (const auto& plan : attention_plans()) {
      p.dropout.clear();
      const AttentionAnswer<float> without = fast_answer(p, plan);
      p.dropout.assign(16, 2.0F);
      const AttentionAnswer<float> twice = fast_answer(p, plan);
      Floats expected = without.output;
      for (float& x : expected) x *= static_cast<float>(1 << power);
      CHECK(relative_distance(twice.output, expected) < 1e-6);
      p.dropout.assign(16, 0.0F);
      CHECK(fast_answer(p, plan).output == Floats(expected.size(), 0.0F));
    }
  }
}

TEST_CASE("Softmax is right for scores of any size") {
  AttentionProblem<float> p =
      in_floats(attention_problem({2, 2, 40, 40, 4, 4}, attention_variant("softmax"), {}, 6));
  for (float& x : p.query) x *= 200.0F;
  const AttentionAnswer<double> exact = reference_answer(in_doubles(p));
  for (const auto& plan : attention_plans()) {
    CHECK(relative_distance(fast_answer(p, plan).output, exact.output) < 1e-4);
  }
}
