#pragma once

#include "transition.hpp"

namespace headway::sampling {

/// Elliptical slice sampling (Murray, Adams and MacKay 2010, figure 2) for a Gaussian prior: no
/// gradient, no step size, always moves. PhasePoint::log_density holds the log likelihood here (the
/// prior needs no evaluation).
class EllipticalSlice : public Transition {
 public:
  /// `target` must outlive the sampler; `stop` may be null.
  EllipticalSlice(GaussianPriorTarget& target, StopSignal* stop);
  bool move(PhasePoint& state, double step_size, Rng& rng, TransitionStatistics& done) override;

  /// Log likelihood, -infinity where rejected.
  static double evaluate(GaussianPriorTarget& target, const VectorXd& position);

 protected:
  /// log y of the slice; tests replace it by a wrong one to show that it would be noticed.
  virtual double slice_height(double log_likelihood, Rng& rng);

 private:
  GaussianPriorTarget& target_;
  StopSignal* stop_;
  VectorXd direction_;  // nu ~ N(0, Sigma)
  VectorXd proposal_;
  VectorXd prior_gradient_;
};

/// A target's own transition.
class Sweep : public Transition {
 public:
  explicit Sweep(SweepTarget& target) : target_(target) {}
  bool move(PhasePoint& state, double step_size, Rng& rng, TransitionStatistics& done) override;

 private:
  SweepTarget& target_;
};

}  // namespace headway::sampling
