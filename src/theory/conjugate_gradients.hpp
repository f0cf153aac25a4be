#pragma once

#include <functional>

#include "headway/observer.hpp"
#include "headway/theory/action_curvature.hpp"

/// Private to theory.
namespace headway::theory {

/// A linear system for preconditioned conjugate gradients.
struct LinearSystem {
  std::function<Tangent(const Tangent&)> apply;  ///< H x
  std::function<Tangent(const Tangent&)> precondition;
  /// Called with every direction s, H s and <s, H s> > 0; may be empty.
  std::function<void(const Tangent&, const Tangent&, double)> seen;
};

enum class LinearEnd { kSolved, kMostProducts, kNegativeCurvature, kInterrupted };

struct LinearSolution {
  Tangent x;  ///< after most products: the last. After negative curvature: the x before it, or else
              ///< the first direction
  LinearEnd end = LinearEnd::kSolved;
  int products = 0;
};

/// Solves H x = b from x = 0, until |residual| <= tolerance |b| in the norm of the preconditioner,
/// or for `most_products` products.
LinearSolution conjugate_gradients(const LinearSystem& system, const Tangent& b, double tolerance,
                                   int most_products, Observer& observer);

}  // namespace headway::theory
