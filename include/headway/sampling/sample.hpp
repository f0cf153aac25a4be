#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "headway/observer.hpp"
#include "headway/sampling/checkpoint.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/sampling/options.hpp"
#include "headway/sampling/target.hpp"

namespace headway::sampling {

/// How the run went, in words and numbers. Built by `sample`; starts as "was not called".
struct SamplingSummary {
  std::string message = "sample() was not called";
  std::string sampler;
  bool complete = false;     ///< all draws were made
  bool interrupted = false;  ///< the user stopped the run: the draws so far are valid
  bool biased =
      false;  ///< unadjusted Langevin: the draws are from a distribution that is O(step_size^2) off
  Index dimension = 0;
  int chains = 0;
  std::vector<Index> draws;             ///< kept so far, per chain
  std::vector<double> step_size;        ///< per chain
  std::vector<double> mean_acceptance;  ///< per chain, after warm-up
  /// Per chain, of all transitions after warm-up, whether kept or thinned away. NaN for samplers
  /// without momentum.
  std::vector<double> ebfmi;
  /// Per chain, after warm-up. Those of hotter replicas are not counted: a replica accepts or
  /// refuses each step for its own density, so they do not bias the chain.
  std::vector<Index> divergences;
  std::int64_t warmup_divergences = 0;  ///< likewise, all chains
  Index saturated = 0;                  ///< draws whose trajectory was cut short, all chains
  /// Of the density, its gradient or the likelihood, warm-up included. With replica exchange all
  /// replicas and exchanges count.
  std::int64_t evaluations = 0;
  double rhat_max = 0.0;  ///< over coordinates that move; NaN when none could be computed
  double ess_bulk_min = 0.0, ess_tail_min = 0.0;
  std::string rhat_max_name, ess_bulk_min_name,
      ess_tail_min_name;  ///< the coordinates of these extremes
  std::vector<std::string>
      warnings;          ///< what is wrong and what to do about it; empty = nothing to report
  double seconds = 0.0;  ///< of this call
  int threads = 0;

  SamplingSummary();
  /// One line.
  [[nodiscard]] std::string brief_report() const;
  /// Several lines: the run, the worst diagnostics, every warning.
  [[nodiscard]] std::string full_report() const;
};

/// Draws of some chains, cut to the shortest of these.
struct KeptDraws {
  std::vector<int> chains;  ///< in order
  Index draws = 0;          ///< of each
  bool operator==(const KeptDraws&) const = default;
};

/// Of chains with that many draws, those that have the most draws together when they are cut to the
/// shortest of them: all chains of a complete run. After an interruption the ones that had hardly
/// begun are left out. All chains where none has a draw.
KeptDraws most_draws(const std::vector<Index>& draws);

/// Draws and what is known about them.
struct SamplingResult {
  std::vector<std::string> names;  ///< d coordinate names
  Checkpoint state;                ///< chains with draws and statistics; resume from here
  std::vector<QuantityDiagnostics> coordinates;  ///< d, or empty without keep_draws
  SamplingSummary summary;

  KeptDraws kept;  ///< what draws and diagnostics are of

  /// The draws of one coordinate, kept.draws x kept.chains.
  [[nodiscard]] MatrixXd coordinate_draws(Index coordinate) const;
};

/// Where checkpoints go. The base class drops them.
class CheckpointSink {
 public:
  CheckpointSink() = default;
  CheckpointSink(const CheckpointSink&) = delete;
  CheckpointSink& operator=(const CheckpointSink&) = delete;
  virtual ~CheckpointSink() = default;
  /// Called between transitions on the calling thread, about every checkpoint_seconds for each wave
  /// of chains.
  virtual void save(const Checkpoint& /*checkpoint*/) {}
};

/// The objects that `sample` calls. Every pointer may be null, and must outlive the call.
struct SamplingHooks {
  Observer* observer = nullptr;  ///< progress in transitions, interruption, warnings
  DrawRecorder* recorder = nullptr;
  CheckpointSink* checkpoints = nullptr;
  const Checkpoint* resume = nullptr;  ///< continue from here instead of from the start
  /// This call continues the chains [first, second) alone. So one run may be made by several calls,
  /// to the same bits.
  std::pair<int, int> chains{0, std::numeric_limits<int>::max()};
};

/// Runs `options.chains` chains on clones of `target`. The result is the same for every number of
/// threads, and the same bits whether or not the run was interrupted and resumed in between
/// (seconds and threads aside). Throws Error kBadStudy for bad options, a chain that cannot start,
/// or a checkpoint of another run; whatever a target throws other than std::domain_error passes
/// through. Interruption is a value: summary.interrupted.
SamplingResult sample(const Target& target, const SamplerOptions& options,
                      const SamplingHooks& hooks = {});

}  // namespace headway::sampling
