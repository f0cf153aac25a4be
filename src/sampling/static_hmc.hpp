#pragma once

#include "transition.hpp"

namespace headway::sampling {

/// Hamiltonian Monte Carlo with a fixed integration time: round(time / step) leapfrog steps, then
/// accept with probability min(1, exp(H_0 - H)). The step size may be jittered. Two samplers are
/// special cases. MALA takes one leapfrog step, q + (e^2/2) M^-1 grad + e M^-1/2 z, with its
/// Metropolis correction. Unadjusted Langevin does the same without the correction.
class StaticHmc : public Transition {
 public:
  /// References must outlive the sampler; `stop` may be null.
  StaticHmc(Hamiltonian& hamiltonian, const SamplerOptions& options, Index dimension,
            StopSignal* stop);
  bool move(PhasePoint& state, double step_size, Rng& rng, TransitionStatistics& done) override;

  /// False: drops the Metropolis correction from now on, for Langevin. A move to a point without
  /// density is still refused.
  void set_corrected(bool corrected) { corrected_ = corrected; }

 protected:
  /// The Metropolis decision. Tests replace it by a wrong one, to show that they notice it.
  virtual bool accept(double log_ratio, Rng& rng);

 private:
  [[nodiscard]] int leapfrog_steps(double step_size, TransitionStatistics& done) const;

  Hamiltonian& hamiltonian_;
  StopSignal* stop_;
  bool single_step_;
  double integration_time_;
  double jitter_;
  int max_steps_;
  double threshold_;
  bool corrected_ = true;
  PhasePoint trial_;
};

}  // namespace headway::sampling
