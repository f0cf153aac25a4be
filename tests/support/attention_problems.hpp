// Random attention layers, the plain reference and every fused kernel on them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/training/attention.hpp"
#include "training/attention/attention_reference.hpp"
#include "training/kernels/cpu/attention_kernels.hpp"

namespace headway::testing {

using training::AttentionGradients;
using training::AttentionInputs;
using training::AttentionOptions;
using training::AttentionOutputs;
using training::AttentionShape;

/// Which of the optional inputs a problem has.
struct AttentionExtras {
  bool bias = false;
  bool mask = false;  ///< a third of the keys; all keys of example 1, where there is one
  bool dropout = false;
};

template <typename Scalar>
struct AttentionProblem {
  AttentionShape shape;
  AttentionOptions options;
  std::vector<Scalar> query, key, value, bias, dropout, mixing, d_output;
  std::vector<std::uint8_t> mask;

  [[nodiscard]] AttentionInputs<Scalar> inputs() const {
    const auto given = [](const auto& array) { return array.empty() ? nullptr : array.data(); };
    return {query.data(), key.data(),     value.data(), given(bias),
            given(mask),  given(dropout), given(mixing)};
  }
};

inline std::vector<double> normals(Rng* rng, Index count, double scale = 1.0) {
  std::vector<double> x(static_cast<std::size_t>(count));
  rng->fill_normal(x);
  for (double& value : x) value *= scale;
  return x;
}

inline AttentionProblem<double> attention_problem(const AttentionShape& n,
                                                  const AttentionOptions& options,
                                                  const AttentionExtras& extras,
                                                  std::uint64_t seed = 1) {
  Rng rng(seed, StreamPurpose::kTests);
  AttentionProblem<double> p;
  p.shape = n;
  p.options = options;
  p.query = normals(&rng, n.batch * n.queries * n.heads * n.query_dim);
  p.key = normals(&rng, n.batch * n.keys * n.heads * n.query_dim);
  p.value = normals(&rng, n.batch * n.keys * n.heads * n.value_dim);
  p.d_output = normals(&rng, n.batch * n.queries * n.heads * n.value_dim);
  if (extras.bias) p.bias = normals(&rng, n.heads * n.queries * n.keys);
  if (options.value_network == training::ValueNetwork::kHylaDeep) {
    p.mixing = normals(&rng, n.heads * n.value_dim * n.value_dim,
                       1.0 / std::sqrt(static_cast<double>(n.value_dim)));
  }
  if (extras.dropout) {
    for (Index i = 0; i < n.queries * n.keys; ++i) {
      p.dropout.push_back(rng.uniform() < 0.25 ? 0.0 : 1.0 / 0.75);
    }
  }
  if (extras.mask) {
    for (Index i = 0; i < n.batch * n.keys; ++i) {
      p.mask.push_back(i / n.keys != 1 && rng.uniform() > 1.0 / 3.0 ? 1 : 0);
    }
  }
  return p;
}

template <typename To, typename From>
std::vector<To> converted(const std::vector<From>& from) {
  return {from.begin(), from.end()};
}

template <typename To, typename From>
AttentionProblem<To> converted_problem(const AttentionProblem<From>& p) {
  return {p.shape,
          p.options,
          converted<To>(p.query),
          converted<To>(p.key),
          converted<To>(p.value),
          converted<To>(p.bias),
          converted<To>(p.dropout),
          converted<To>(p.mixing),
          converted<To>(p.d_output),
          p.mask};
}
/// Rounding the double problem to float first makes both the same problem.
inline AttentionProblem<float> in_floats(const AttentionProblem<double>& p) {
  return converted_problem<float>(p);
}
inline AttentionProblem<double> in_doubles(const AttentionProblem<float>& p) {
  return converted_problem<double>(p);
}

template <typename Scalar>
struct AttentionAnswer {
  std::vector<Scalar> output, log_sum_exp, d_query, d_key, d_value, d_bias, d_mixing;

  /// Every number starts as 7, so that one that is not overwritten is noticed.
  explicit AttentionAnswer(const AttentionProblem<Scalar>& p)
      : output(p.d_output.size(), 7),
        d_query(p.query.size(), 7),
        d_key(p.key.size(), 7),
        d_value(p.value.size(), 7),
        d_bias(p.bias.size(), 7),
        d_mixing(p.mixing.size(), 7) {
    if (p.options.normalisation == training::Normalisation::kSoftmax) {
      log_sum_exp.assign(static_cast<std::size_t>(p.shape.batch * p.shape.heads * p.shape.queries),
                         7);
    }
  }
  AttentionOutputs<Scalar> outputs() {
    return {output.data(), log_sum_exp.empty() ? nullptr : log_sum_exp.data()};
  }
  AttentionGradients<Scalar> gradients() {
    return {d_query.data(), d_key.data(), d_value.data(), d_bias.empty() ? nullptr : d_bias.data(),
            d_mixing.empty() ? nullptr : d_mixing.data()};
  }
  bool operator==(const AttentionAnswer&) const = default;
};

template <typename Scalar>
AttentionAnswer<Scalar> reference_answer(const AttentionProblem<Scalar>& p) {
  AttentionAnswer<Scalar> answer(p);
  training::reference::attention_forward(p.shape, p.options, p.inputs(), answer.outputs());
  training::reference::attention_backward(p.shape, p.options, p.inputs(), p.d_output.data(),
                                          answer.gradients());
  return answer;
}

inline AttentionAnswer<float> fast_answer(const AttentionProblem<float>& p,
                                          const training::detail::AttentionPlan& plan) {
  AttentionAnswer<float> answer(p);
  training::detail::forward_with(plan, p.shape, p.options, p.inputs(), answer.outputs());
  const AttentionOutputs<float> outputs = answer.outputs();
  training::detail::backward_with(plan, p.shape, p.options, p.inputs(),
                                  {{outputs.output, outputs.log_sum_exp}, p.d_output.data()},
                                  answer.gradients());
  return answer;
}

/// Every kernel that this machine has, along both axes.
inline std::vector<training::detail::AttentionPlan> attention_plans(int threads = 1) {
  using training::detail::LaneAxis;
  std::vector<training::detail::AttentionPlan> plans;
  for (const auto set :
       {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    const auto* kernels = training::detail::attention_kernels(set);
    if (kernels == nullptr) continue;
    for (const LaneAxis axis : {LaneAxis::kExamples, LaneAxis::kQueries}) {
      plans.push_back({kernels, axis, threads});
    }
  }
  return plans;
}

/// Variants of the table and hyla with the other nonlinearities, by a name for messages.
inline std::vector<std::pair<std::string, AttentionOptions>> attention_cases() {
  std::vector<std::pair<std::string, AttentionOptions>> cases;
  for (const std::string& name : training::attention_variant_names()) {
    cases.emplace_back(name, training::attention_variant(name));
  }
  for (const char* variant : {"hyla", "hyla_deep", "linear_rms_head_nonlinear_value"}) {
    for (const std::string& phi : training::nonlinearity_names()) {
      if (phi == "identity" || phi == "relu") continue;  // those of the table
      AttentionOptions options = training::attention_variant(variant);
      options.nonlinearity = training::parse_nonlinearity(phi);
      cases.emplace_back(std::string(variant) + " " + phi, options);
    }
  }
  return cases;
}

/// |a - b| / max(|b|, floor) in the Euclidean norm; NaN anywhere gives NaN.
template <typename A, typename B>
double relative_distance(const std::vector<A>& a, const std::vector<B>& b, double floor = 1e-30) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (std::isinf(b[i]) && a[i] == static_cast<A>(b[i])) continue;
    const double x = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    difference += x * x;
    size += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  if (a.size() != b.size()) return std::nan("");
  return std::sqrt(difference) / std::max(std::sqrt(size), floor);
}

/// Sizes and inputs that a layer may have.
struct AttentionCase {
  AttentionShape shape;
  AttentionExtras extras;
  bool causal;
};

// B, H, Sq, Sk, d, dv
inline const std::vector<AttentionCase>& attention_shapes() {
  static const std::vector<AttentionCase> list = {
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

}  // namespace headway::testing
