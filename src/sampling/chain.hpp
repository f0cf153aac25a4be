#pragma once

#include <memory>
#include <vector>

#include "adaptation.hpp"
#include "headway/sampling/checkpoint.hpp"
#include "headway/sampling/options.hpp"
#include "headway/sampling/target.hpp"
#include "metric.hpp"
#include "static_hmc.hpp"
#include "transition.hpp"

namespace headway::sampling {

class Ladder;

/// Transitions that one chain makes, warm-up included.
std::int64_t transitions_of(const SamplerOptions& options);

/// One chain: its start, its warm-up, its draws. Works on a ChainState that outlives it; save()
/// brings that up to date.
class Chain {
 public:
  /// Continues from `state` when that has started. `recorder` may be null.
  Chain(std::unique_ptr<Target> target, const SamplerOptions& options, ChainState& state,
        DrawRecorder* recorder, StopSignal* stop);
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  /// Finds the starting position and the first step size. Throws Error kBadStudy when it cannot.
  void start();
  /// One transition with its adaptation. False when stopped: the next call then makes the same
  /// transition. With replica exchange, exchanges and hotter replicas may be done already.
  bool step();
  [[nodiscard]] bool started() const { return state_.started; }
  [[nodiscard]] bool finished() const { return state_.iteration >= transitions_of(options_); }
  /// Hands the draws that the state came with to the recorder.
  void replay();
  void save();

  // For replica exchange; the target must be a TemperedTarget.
  /// Sets the inverse temperature of the target. If the chain has started, call move_to() next.
  void temper(double beta);
  [[nodiscard]] const VectorXd& position() const { return point_.position; }
  /// The target's log likelihood at the position.
  [[nodiscard]] double log_likelihood();
  /// Moves to another position, and computes density and gradient there.
  void move_to(const VectorXd& position);

 private:
  void make_transition(StopSignal* stop);
  void reserve();
  void find_start(Rng& rng);
  bool try_start(Rng& rng);
  void find_first_step(Rng& rng);
  void adapt(const TransitionStatistics& done);
  void collect(int transition);
  void add_information_here();
  void set_metric_from_window();
  void close_window();
  void keep(const TransitionStatistics& done);

  const SamplerOptions& options_;
  ChainState& state_;
  DrawRecorder* recorder_;
  std::unique_ptr<Target> target_;
  WarmupSchedule schedule_;
  std::vector<int> probes_;  // kInformation: transitions after which the information is taken
  Metric metric_;
  Hamiltonian hamiltonian_;
  Rng rng_;
  PhasePoint point_;
  std::unique_ptr<Transition> transition_;
  std::unique_ptr<Ladder> ladder_;  // replica exchange; null without
  StaticHmc* langevin_ = nullptr;   // transition_, when its correction is dropped after warm-up
};

/// Adds one transition to the summary of those since the last kept draw.
void accumulate(TransitionStatistics& sum, const TransitionStatistics& one, std::int64_t before);

}  // namespace headway::sampling
