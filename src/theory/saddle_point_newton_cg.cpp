#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/theory/action_curvature.hpp"
#include "saddle_point_newton.hpp"

namespace headway::theory {
namespace {

constexpr int kMostProducts = 400;         // of one direction
constexpr double kLoosestForcing = 0.3;    // |residual| / |gradient| of a direction
constexpr double kTightestForcing = 1e-3;  // what single precision is sure to reach

/// Directions by conjugate gradients on Hessian-vector products, preconditioned by the entropy,
/// cut off by a forcing term that falls with the gradient (Dembo, Eisenstat and Steihaug 1982;
/// Nash 2000).
class NewtonCgSolver final : public GeodesicDescent {
 public:
  using GeodesicDescent::GeodesicDescent;

 private:
  std::optional<GeodesicStep> next_step() override {
    // Products only steer; the gradient and the stopping test are in double.
    const ActionCurvature curvature(action(), here(), evaluation(), Precision::kSingle);
    const Tangent& gradient = curvature.gradient();
    Tangent residual = gradient;
    for (MatrixXd& m : residual) m = -m;
    Tangent z = curvature.precondition(residual);
    double rz = inner_product(residual, z);
    // Newton's step is about |g| in the norm of the preconditioner, over sqrt(N), long in log U.
    const double reach = std::sqrt(rz / curvature.scale(1));
    const double forcing = std::clamp(reach, kTightestForcing, kLoosestForcing);
    const double target = forcing * forcing * rz;
    Tangent direction = z;
    Tangent solution;
    for (int k = 0; k < kMostProducts && rz > target; ++k) {
      if (observer().interrupted()) return std::nullopt;
      const Tangent product = curvature.geodesic_hessian(direction);
      ++summary().products;
      const double along = inner_product(direction, product);
      if (!(along > 0.0)) {  // negative curvature: what there is, or downhill
        if (solution.empty()) solution = direction;
        break;
      }
      const double step = rz / along;
      if (solution.empty()) {
        solution = direction;
        for (MatrixXd& m : solution) m *= step;
      } else {
        add_scaled(solution, step, direction);
      }
      add_scaled(residual, -step, product);
      z = curvature.precondition(residual);
      const double next = inner_product(residual, z);
      for (std::size_t l = 0; l < z.size(); ++l) direction[l] = z[l] + (next / rz) * direction[l];
      rz = next;
    }
    if (solution.empty()) solution = std::move(z);  // a gradient of zero
    OrderParameters along = curvature.to_direction(solution);
    return GeodesicStep(curvature.frames(), solution, std::move(along),
                        action().kernels().threads());
  }
};

}  // namespace

SaddlePoint solve_by_newton_cg(const Action& action, const OrderParameters& start,
                               const SaddlePointOptions& options, Observer& observer) {
  return NewtonCgSolver(action, options, observer).run(start, "newton_cg");
}

}  // namespace headway::theory
