#pragma once

#include <algorithm>

#include "headway/saddle_point.hpp"
#include "larger.hpp"
#include "theory_problems.hpp"

/// Saddle points of the problems of theory_problems.hpp.
namespace headway::test {

inline theory::SaddlePoint solve(const TheoryCase& c, double temperature,
                                 theory::SaddlePointOptions options = {},
                                 theory::KernelForm form = theory::KernelForm::kAuto) {
  Observer observer;
  const theory::Action action(c.architecture, temperature, kernels_of(c, form, temperature));
  return theory::solve_saddle_point(
      action, theory::gaussian_process_order_parameters(c.architecture), options, observer);
}

inline double difference(const theory::OrderParameters& a, const theory::OrderParameters& b) {
  double largest = 0.0;
  for (int l = 1; l <= static_cast<int>(a.layers.size()) + 1; ++l)
    largest = testing::larger(largest, relative_error(a.at(l), b.at(l)));
  return largest;
}

inline theory::SaddlePointOptions with(
    theory::Optimizer optimizer, theory::Elimination elimination = theory::Elimination::kJoint) {
  theory::SaddlePointOptions options;
  options.optimizer = optimizer;
  options.elimination = elimination;
  return options;
}

}  // namespace headway::test
