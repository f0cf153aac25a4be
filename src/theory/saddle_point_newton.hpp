#pragma once

#include "headway/theory/saddle_point.hpp"

/// Private to theory.
namespace headway::theory {

SaddlePoint solve_by_newton(const Action& action, const OrderParameters& start,
                            const SaddlePointOptions& options, bool exact_hessian,
                            Observer& observer);
SaddlePoint solve_by_ceres(const Action& action, const OrderParameters& start,
                           const SaddlePointOptions& options, Observer& observer);

/// Estimated rounding error of the gradient norm: eps * condition(K + T) * (largest energy-gradient
/// term) / max N.
double estimate_gradient_rounding(const Action& action, const Action::Evaluation& evaluation);

}  // namespace headway::theory
