#include "conjugate_gradients.hpp"

#include <utility>

namespace headway::theory {

LinearSolution conjugate_gradients(const LinearSystem& system, const Tangent& b, double tolerance,
                                   int most_products, Observer& observer) {
  LinearSolution result;
  Tangent residual = b;
  Tangent direction = system.precondition(residual);
  double rz = inner_product(residual, direction);
  const double target = tolerance * tolerance * rz;
  while (rz > target) {
    if (result.products == most_products) {
      result.end = LinearEnd::kMostProducts;
      break;
    }
    if (observer.interrupted()) {
      result.end = LinearEnd::kInterrupted;
      return result;
    }
    const Tangent product = system.apply(direction);
    ++result.products;
    const double along = inner_product(direction, product);
    if (!(along > 0.0)) {
      result.end = LinearEnd::kNegativeCurvature;
      break;
    }
    if (system.seen) system.seen(direction, product, along);
    const double step = rz / along;
    if (result.x.empty()) {
      result.x = direction;
      for (MatrixXd& m : result.x) m *= step;
    } else {
      add_scaled(result.x, step, direction);
    }
    add_scaled(residual, -step, product);
    const Tangent z = system.precondition(residual);
    const double next = inner_product(residual, z);
    for (std::size_t l = 0; l < z.size(); ++l) direction[l] = z[l] + (next / rz) * direction[l];
    rz = next;
  }
  if (result.x.empty()) result.x = std::move(direction);
  return result;
}

}  // namespace headway::theory
