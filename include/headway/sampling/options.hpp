#pragma once

#include <cstdint>
#include <numbers>
#include <optional>
#include <string_view>
#include <vector>

#include "headway/core/words.hpp"
#include "headway/types.hpp"

namespace headway::sampling {

enum class SamplerKind {
  kNuts,       ///< multinomial no-U-turn sampler: the default
  kStaticHmc,  ///< Hamiltonian Monte Carlo with a fixed integration time
  kMala,       ///< Metropolis-adjusted Langevin: one leapfrog step a transition
  kLangevin,   ///< the same without accept/reject: BIASED by O(step_size^2), and the result says so
  kSweep,      ///< the target's own transition (SweepTarget), e.g. block Gibbs
};

enum class MetricKind {
  kUnit,      ///< inverse mass matrix = identity, not adapted
  kDiagonal,  ///< diagonal of the posterior covariance: O(d) a step
  kDense,     ///< the whole covariance: O(d^2) a step, pays off for strong correlations and small d
  kInformation,  ///< inverse of the target's expected information (Target::information), averaged
                 ///< over positions of the warm-up: O(d^2) a step, for strong correlations among
                 ///< too many unknowns to estimate their covariance
};

/// What to run. `validate` checks every field.
struct SamplerOptions {
  SamplerKind sampler = SamplerKind::kNuts;
  /// At least 4 let R-hat see chains that settled in different places.
  int chains = 4;
  /// Transitions a chain that adapt and are thrown away. 0: nothing is adapted, step_size is used
  /// as it is.
  int warmup = 1000;
  /// Draws kept per chain.
  int draws = 1000;
  /// Every thin-th transition is kept; > 1 only saves memory.
  int thin = 1;
  /// Root of all random streams: chain c uses (seed, kChain, first_stream + c) and (seed,
  /// kChainStart, first_stream + c).
  std::uint64_t seed = 1;
  /// Where this run's streams begin: runs of one seed whose streams do not overlap are independent.
  std::uint64_t first_stream = 0;
  /// Chains run in parallel on up to this many threads, 0 = all cores; the draws do not depend on
  /// it.
  int threads = 0;
  /// Diagonal is Stan's default and enough where the coordinates are nearly independent a priori.
  MetricKind metric = MetricKind::kDiagonal;
  /// Mean acceptance that the step size is adapted to. Unset: 0.8 for NUTS and HMC (Stan), 0.574
  /// for MALA (optimal scaling), 0.95 for Langevin (what MALA would accept with the step: keeps the
  /// bias small).
  std::optional<double> target_accept;
  /// Where adaptation of the step size starts (it doubles or halves from here); with warmup = 0 the
  /// step size itself.
  double step_size = 1.0;
  /// NUTS: at most 2^depth - 1 leapfrog steps a transition (Stan).
  int max_tree_depth = 10;
  /// A trajectory whose energy error exceeds this has diverged (Stan).
  double divergence_threshold = 1000.0;
  /// Static HMC: length of a trajectory. A quarter period of a standardised Gaussian decorrelates
  /// it at once.
  double integration_time = 0.5 * std::numbers::pi;
  /// Static HMC: each transition draws its step size from step_size * (1 +- jitter), so that
  /// trajectories do not close on themselves.
  double step_size_jitter = 0.2;
  /// Static HMC: at most this many leapfrog steps a transition, also while the step size is still
  /// tiny.
  int max_leapfrog_steps = 1023;
  /// Starts are uniform on (-radius, radius)^d (Stan), unless the target or `starts` say otherwise.
  double initial_radius = 2.0;
  /// Starting positions that a chain tries before an Error says that it cannot start.
  int start_attempts = 100;
  /// Starting positions, one per chain, or empty.
  std::vector<VectorXd> starts;
  /// Replica exchange: replicas of each chain, at inverse temperatures of the likelihood from 1
  /// down to 0, the prior. 1: no replica exchange. More need a TemperedTarget. Replica k of chain c
  /// has the random streams of chain c + k kMostChains; exchanges have streams of their own.
  int replicas = 1;
  /// 1 > ... > 0, one for each replica. Empty: chosen in the warm-up of each chain, so that all
  /// neighbours exchange equally often.
  std::vector<double> inverse_temperatures;
  /// Keep the draws in the result (d * draws * chains doubles). False: only the DrawRecorder sees
  /// them, and the coordinates are not diagnosed.
  bool keep_draws = true;
  /// Seconds between checkpoints handed to CheckpointSink, 0 = none. Does not influence the draws.
  double checkpoint_seconds = 0.0;

  /// Throws Error kBadStudy naming field, value and what is allowed. `dimension` is that of the
  /// target; `sample` also refuses a metric that the target does not provide.
  void validate(Index dimension) const;
};

/// "nuts", "hmc", "mala", "langevin", "sweep".
Words<SamplerKind> words_of(SamplerKind);
std::string_view sampler_name(SamplerKind kind);
/// "unit", "diagonal", "dense", "information".
std::string_view metric_name(MetricKind kind);
/// True for the metrics that are a whole d x d matrix.
bool is_full_matrix(MetricKind kind);
/// How often MetricKind::kInformation asks for Target::information in a chain's warm-up, its start
/// included.
int information_evaluations(int warmup);
/// target_accept, or the sampler's default for it.
double resolved_target_accept(const SamplerOptions& options);
/// True for the samplers that follow the gradient with a step size.
bool uses_gradient(SamplerKind kind);
/// Index of the random streams of one chain, counted from 0.
std::uint64_t stream_of(const SamplerOptions& options, int chain);

}  // namespace headway::sampling
