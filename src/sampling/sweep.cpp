#include "sweep.hpp"

#include <limits>

namespace headway::sampling {

bool Sweep::move(PhasePoint& state, double /*step_size*/, Rng& rng, TransitionStatistics& done) {
  done = TransitionStatistics{};
  done.energy = done.acceptance = std::numeric_limits<double>::quiet_NaN();
  state.log_density = target_.sweep(rng, state.position);
  done.log_density = state.log_density;
  done.evaluations = 1;
  return true;
}

}  // namespace headway::sampling
