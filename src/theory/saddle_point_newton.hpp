#pragma once

#include "geodesic_descent.hpp"

/// Private to theory: the ways to minimise the action, one a file.
namespace headway::theory {

SaddlePoint solve_by_newton(const Action& action, const OrderParameters& start,
                            const SaddlePointOptions& options, bool exact_hessian,
                            Observer& observer);
/// Truncated Newton: directions by conjugate gradients on Hessian-vector products.
SaddlePoint solve_by_newton_cg(const Action& action, const OrderParameters& start,
                               const SaddlePointOptions& options, Observer& observer,
                               const SaddlePointHooks& hooks);
SaddlePoint solve_by_ceres(const Action& action, const OrderParameters& start,
                           const SaddlePointOptions& options, Observer& observer);

}  // namespace headway::theory
