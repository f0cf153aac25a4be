#pragma once

#include <cstddef>

#include "hamiltonian.hpp"
#include "headway/core/rng.hpp"
#include "headway/sampling/checkpoint.hpp"

namespace headway::sampling {

/// What a chain tells while it runs. It asks before every evaluation of the density whether to
/// stop, so that even a long trajectory can be abandoned.
class StopSignal {
 public:
  StopSignal() = default;
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  virtual ~StopSignal() = default;
  virtual bool stop_requested() { return false; }
  /// Replica exchange: `replica`, counted from 0, of `chain` moves next.
  virtual void moves(int /*chain*/, std::size_t /*replica*/, double /*inverse_temperature*/) {}
};

/// One Markov chain transition that leaves the target invariant.
class Transition {
 public:
  Transition() = default;
  Transition(const Transition&) = delete;
  Transition& operator=(const Transition&) = delete;
  virtual ~Transition() = default;

  /// Moves `state` (position, gradient and log_density) and says what happened. Returns false when
  /// the stop signal ended it: `state` is then unchanged, `rng` has moved.
  virtual bool move(PhasePoint& state, double step_size, Rng& rng, TransitionStatistics& done) = 0;
};

}  // namespace headway::sampling
