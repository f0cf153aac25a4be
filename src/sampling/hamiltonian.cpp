#include "hamiltonian.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace headway::sampling {

void Hamiltonian::evaluate(PhasePoint& z) {
  ++evaluations_;
  try {
    z.log_density = target_->log_density(z.position, z.gradient);
  } catch (const std::domain_error&) {
    z.log_density = -std::numeric_limits<double>::infinity();
  }
  // A gradient that is not finite would poison every later point of the trajectory.
  if (!std::isfinite(z.log_density) || !z.gradient.allFinite()) {
    z.log_density = -std::numeric_limits<double>::infinity();
  }
}

double Hamiltonian::energy(PhasePoint& z) const {
  metric_->velocity(z.momentum, z.velocity);
  const double total = 0.5 * z.momentum.dot(z.velocity) - z.log_density;
  return std::isnan(total) ? std::numeric_limits<double>::infinity() : total;
}

void Hamiltonian::leapfrog(PhasePoint& z, double step) {
  z.momentum.noalias() += 0.5 * step * z.gradient;
  metric_->velocity(z.momentum, z.velocity);
  z.position.noalias() += step * z.velocity;
  evaluate(z);
  if (std::isfinite(z.log_density)) z.momentum.noalias() += 0.5 * step * z.gradient;
}

double find_step_size(Hamiltonian& hamiltonian, const PhasePoint& z, double step, Rng& rng) {
  constexpr double kLargest = 1e7;
  constexpr double kSmallest = 1e-300;
  const double threshold = std::log(0.8);
  PhasePoint trial = z;
  const auto log_acceptance = [&](double size) {
    trial = z;
    hamiltonian.draw_momentum(trial, rng);
    const double before = hamiltonian.energy(trial);
    hamiltonian.leapfrog(trial, size);
    return before - hamiltonian.energy(trial);
  };
  const bool grow = log_acceptance(step) > threshold;
  for (;;) {
    if ((log_acceptance(step) > threshold) != grow) return step;
    step *= grow ? 2.0 : 0.5;
    if (step > kLargest) return std::numeric_limits<double>::infinity();
    if (step < kSmallest) return 0.0;
  }
}

}  // namespace headway::sampling
