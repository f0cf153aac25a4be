// What a fused kernel's answer must satisfy.
#pragma once

#include "attention_problems.hpp"
#include "catch.hpp"

namespace headway::testing {

/// Checks an answer in single precision. Its errors are a few units in the last place for each of
/// some hundred additions. Where the derivative jumps at 0, one pair in 10^5 is on the wrong side.
/// `smooth` bounds the error of gradients where the derivative does not jump.
inline void check_answer(const AttentionProblem<float>& p, const AttentionAnswer<float>& fast,
                         const AttentionAnswer<double>& exact, double smooth = 1e-5) {
  CHECK(relative_distance(fast.output, exact.output) < 3e-6);
  CHECK(relative_distance(fast.log_sum_exp, exact.log_sum_exp) < 1e-6);
  const bool jump = p.options.nonlinearity == training::Nonlinearity::kRelu;
  const double tolerance = jump ? 1e-4 : smooth;
  // With one head RMSHead's weights are signs: the gradient of the scores cancels.
  const bool cancels =
      p.shape.heads == 1 && p.options.normalisation == training::Normalisation::kRmsHead;
  const double floor = cancels ? 30.0 : 1e-30;
  CHECK(relative_distance(fast.d_query, exact.d_query, floor) < tolerance);
  CHECK(relative_distance(fast.d_key, exact.d_key, floor) < tolerance);
  CHECK(relative_distance(fast.d_value, exact.d_value) < tolerance);
  CHECK(relative_distance(fast.d_bias, exact.d_bias, floor) < tolerance);
  CHECK(relative_distance(fast.d_mixing, exact.d_mixing) < tolerance);
}

}  // namespace headway::testing
