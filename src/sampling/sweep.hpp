#pragma once

#include "transition.hpp"

namespace headway::sampling {

/// A target's own transition.
class Sweep : public Transition {
 public:
  /// `target` must outlive the sampler.
  explicit Sweep(SweepTarget& target) : target_(target) {}
  bool move(PhasePoint& state, double step_size, Rng& rng, TransitionStatistics& done) override;

 private:
  SweepTarget& target_;
};

}  // namespace headway::sampling
