#pragma once

#include <cstdint>

#include "headway/core/rng.hpp"
#include "headway/sampling/target.hpp"
#include "headway/types.hpp"
#include "metric.hpp"

namespace headway::sampling {

/// A state of the chain with its momentum. Samplers without momentum use position and log_density
/// alone.
struct PhasePoint {
  VectorXd position, gradient, momentum, velocity;
  double log_density = 0.0;

  /// Without `dynamics` only the position has room.
  explicit PhasePoint(Index dimension, bool dynamics = true) : position(VectorXd::Zero(dimension)) {
    if (dynamics) gradient = momentum = velocity = position;
  }
};

/// H(q, p) = -log density(q) + p^T M^-1 p / 2 and its leapfrog integrator.
class Hamiltonian {
 public:
  Hamiltonian(Target& target, const Metric& metric) : target_(&target), metric_(&metric) {}

  /// Log density and gradient at the position; -infinity where the target rejects it or either is
  /// not finite.
  void evaluate(PhasePoint& z);
  void draw_momentum(PhasePoint& z, Rng& rng) const { metric_->draw_momentum(rng, z.momentum); }
  /// Updates the velocity and returns H; +infinity where the density vanishes.
  double energy(PhasePoint& z) const;
  /// One step of the leapfrog integrator: time-reversible, volume-preserving, energy error
  /// O(step^2). One evaluation of the gradient. Leaves a rejected point with log_density =
  /// -infinity.
  void leapfrog(PhasePoint& z, double step);

  /// Evaluations of the density since construction.
  [[nodiscard]] std::int64_t evaluations() const { return evaluations_; }

 private:
  Target* target_;
  const Metric* metric_;
  std::int64_t evaluations_ = 0;
};

/// Halves or doubles `step` until one leapfrog step from z crosses an acceptance of 0.8 (Hoffman
/// and Gelman 2014, algorithm 4, with Stan's threshold). Infinity when the density looks constant
/// up to a step of 1e7 (no proper posterior), 0 when no step above 1e-300 is small enough (a jump
/// in the density, or a wrong gradient).
double find_step_size(Hamiltonian& hamiltonian, const PhasePoint& z, double step, Rng& rng);

}  // namespace headway::sampling
