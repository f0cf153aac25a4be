#include "elliptical_slice.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace headway::sampling {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

EllipticalSlice::EllipticalSlice(GaussianPriorTarget& target, StopSignal* stop)
    : target_(target),
      stop_(stop),
      direction_(target.dimension()),
      proposal_(target.dimension()),
      prior_gradient_(target.dimension()) {}

double EllipticalSlice::evaluate(GaussianPriorTarget& target, const VectorXd& position) {
  try {
    const double value = target.log_likelihood(position);
    return std::isfinite(value) ? value : -std::numeric_limits<double>::infinity();
  } catch (const std::domain_error&) {
    return -std::numeric_limits<double>::infinity();
  }
}

double EllipticalSlice::slice_height(double log_likelihood, Rng& rng) {
  return log_likelihood + std::log(rng.uniform());
}

bool EllipticalSlice::move(PhasePoint& state, double /*step_size*/, Rng& rng,
                           TransitionStatistics& done) {
  done = TransitionStatistics{};
  done.energy = done.acceptance = kNan;
  const VectorXd& mean = target_.prior().mean;
  target_.prior().draw_centred(rng, direction_);
  const double height = slice_height(state.log_density, rng);
  double angle = 2.0 * std::numbers::pi * rng.uniform();
  double low = angle - 2.0 * std::numbers::pi;
  double high = angle;
  for (;;) {
    if (stop_ != nullptr && stop_->stop_requested()) return false;
    proposal_.array() = mean.array() + std::cos(angle) * (state.position - mean).array() +
                        std::sin(angle) * direction_.array();
    const double value = evaluate(target_, proposal_);
    ++done.evaluations;
    if (value > height) {
      state.position.swap(proposal_);
      state.log_density = value;
      break;
    }
    (angle < 0.0 ? low : high) = angle;  // shrink the bracket towards the current state at angle 0
    // The current state is on the slice; only rounding lets the bracket shrink to nothing. Then it
    // stays.
    if (!(high - low > std::numeric_limits<double>::epsilon())) break;
    angle = low + (high - low) * rng.uniform();
  }
  done.log_density =
      state.log_density + target_.prior().log_density(state.position, prior_gradient_);
  return true;
}

bool Sweep::move(PhasePoint& state, double /*step_size*/, Rng& rng, TransitionStatistics& done) {
  done = TransitionStatistics{};
  done.energy = done.acceptance = kNan;
  state.log_density = target_.sweep(rng, state.position);
  done.log_density = state.log_density;
  done.evaluations = 1;
  return true;
}

}  // namespace headway::sampling
