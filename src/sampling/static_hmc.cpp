#include "static_hmc.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headway::sampling {

StaticHmc::StaticHmc(Hamiltonian& hamiltonian, const SamplerOptions& options, Index dimension,
                     StopSignal* stop)
    : hamiltonian_(hamiltonian),
      stop_(stop),
      single_step_(options.sampler != SamplerKind::kStaticHmc),
      integration_time_(options.integration_time),
      jitter_(single_step_ ? 0.0 : options.step_size_jitter),
      max_steps_(options.max_leapfrog_steps),
      threshold_(options.divergence_threshold),
      trial_(dimension) {}

bool StaticHmc::accept(double log_ratio, Rng& rng) { return rng.uniform() < std::exp(log_ratio); }

int StaticHmc::leapfrog_steps(double step_size, TransitionStatistics& done) const {
  if (single_step_) return 1;
  const double steps = std::max(1.0, std::round(integration_time_ / step_size));
  done.saturated = steps > static_cast<double>(max_steps_);
  return done.saturated ? max_steps_ : static_cast<int>(steps);
}

bool StaticHmc::move(PhasePoint& state, double step_size, Rng& rng, TransitionStatistics& done) {
  done = TransitionStatistics{};
  const int steps = leapfrog_steps(step_size, done);
  double step = step_size;
  if (jitter_ > 0.0) step *= 1.0 + jitter_ * (2.0 * rng.uniform() - 1.0);
  hamiltonian_.draw_momentum(state, rng);
  const double initial_energy = hamiltonian_.energy(state);
  trial_ = state;
  for (int i = 0; i < steps; ++i) {
    if (stop_ != nullptr && stop_->stop_requested()) return false;
    hamiltonian_.leapfrog(trial_, step);
    ++done.evaluations;
    // A trajectory that meets a point without density is refused as a whole. So would its reverse
    // be, which keeps the transition reversible.
    if (!std::isfinite(trial_.log_density)) break;
  }
  const double energy = hamiltonian_.energy(trial_);
  const double log_ratio = initial_energy - energy;
  done.divergent = -log_ratio > threshold_;
  done.acceptance = std::min(1.0, std::exp(log_ratio));
  done.step_size = step;
  done.energy = initial_energy;
  const bool accepted = corrected_ ? accept(log_ratio, rng) : std::isfinite(energy);
  if (accepted && std::isfinite(energy)) {
    std::swap(state, trial_);
    done.energy = energy;
  }
  done.log_density = state.log_density;
  return true;
}

}  // namespace headway::sampling
