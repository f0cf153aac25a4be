#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/sampling/options.hpp"
#include "headway/types.hpp"

namespace headway::sampling {

/// What one transition did; a kept draw has one of these. With thin > 1 it sums over the thinned
/// transitions.
struct TransitionStatistics {
  double log_density = 0.0;  ///< at the new position
  double energy = 0.0;       ///< Hamiltonian of the new state; NaN for samplers without momentum
  /// Mean Metropolis probability. Langevin has one, too, although it takes every move. NaN for a
  /// target's own transition.
  double acceptance = 0.0;
  double step_size = 0.0;        ///< of this transition; 0 for samplers without one
  std::int32_t tree_depth = 0;   ///< NUTS: doublings; largest when thinned
  std::int32_t evaluations = 0;  ///< of the (gradient of the) density
  bool divergent = false;
  bool saturated = false;  ///< stopped by max_tree_depth or max_leapfrog_steps
  bool operator==(const TransitionStatistics&) const = default;
};

/// Nesterov's dual averaging as in Hoffman and Gelman 2014, section 3.2.
struct DualAveragingState {
  double anchor = 0.0;         ///< mu = log(10 * step size at the last restart)
  double mean_error = 0.0;     ///< H-bar
  double log_step_mean = 0.0;  ///< log of the averaged step size
  std::int64_t count = 0;
};

/// Running mean and sum of squared deviations (Welford) of the positions in the current window; for
/// MetricKind::kInformation the sum of the information matrices of `count` positions.
struct CovarianceState {
  std::int64_t count = 0;
  VectorXd mean;
  MatrixXd squares;  ///< d x 1 for the diagonal, d x d for the whole matrix
};

/// Sums over the energies of all transitions after warm-up, kept or not.
struct EnergySums {
  std::int64_t count = 0;
  double last = 0.0;  ///< after the last transition
  double mean = 0.0;
  double squares = 0.0;  ///< sum of squared deviations from the mean (Welford)
  double steps = 0.0;    ///< sum of squared differences of successive energies
};

/// Replica exchange of one chain. Replica 0 is the chain itself, at inverse temperature 1.
struct LadderState {
  std::vector<double> inverse_temperatures;  ///< 1, ..., 0
  std::vector<double> log_likelihood;        ///< of each replica where it stands
  std::vector<double> rejected;  ///< sum of rejection probabilities between replicas k and k + 1
  std::vector<double> attempts;  ///< number of proposed exchanges that `rejected` sums over
  std::int64_t rounds = 0;       ///< of exchanges
  std::int64_t next = 0;         ///< replica that moves next; 0: exchanges come first
  std::int64_t exchanges = 0;    ///< accepted after warm-up, all neighbours
  Rng::State rng;
};

/// The state of one chain between two transitions: enough to continue to the same bits. Plain data.
struct ChainState {
  int chain = 0;
  bool started = false;        ///< a starting position was found
  std::int64_t iteration = 0;  ///< transitions done, warm-up included
  Rng::State rng;
  VectorXd position;  ///< d
  VectorXd gradient;  ///< of the log density there, d; empty for samplers without gradient
  double log_density = 0.0;
  double step_size = 0.0;
  DualAveragingState dual_averaging;
  MatrixXd inverse_metric;  ///< empty (unit), d x 1 (diagonal) or d x d (dense, information)
  CovarianceState window;
  TransitionStatistics pending;  ///< transitions since the last kept draw, when thinning
  /// Of the density, its gradient or, for replica exchange, the likelihood, in total; those of
  /// hotter replicas are in `replicas`.
  std::int64_t evaluations = 0;
  std::int64_t warmup_divergences = 0;
  EnergySums energies;
  std::vector<TransitionStatistics> statistics;  ///< one per kept draw
  std::vector<double> draws;  ///< kept positions, d doubles each; empty unless keep_draws
  // Replica exchange; empty without.
  LadderState ladder;
  std::vector<double> log_likelihoods;  ///< one per kept draw
  std::vector<ChainState> replicas;     ///< 1, 2, ..., hotter and hotter

  /// Kept draws as columns, d x kept (no columns when the draws were not kept).
  [[nodiscard]] Eigen::Map<const MatrixXd> draw_matrix() const;
};

/// The whole run between transitions.
struct Checkpoint {
  /// "key = value" lines of all that fixes the draws: options, dimension, the target's fingerprint.
  std::string settings;
  std::vector<ChainState> chains;
};

/// The `settings` of a run.
std::string describe_settings(const SamplerOptions& options, Index dimension,
                              std::string_view target_fingerprint);

/// Throws Error kBadStudy when the checkpoint belongs to other settings (naming the first that
/// differs), kBadData when its parts do not fit together. A run may be resumed with more draws than
/// it was started with.
void require_matching(const Checkpoint& checkpoint, const SamplerOptions& options, Index dimension,
                      std::string_view target_fingerprint);

}  // namespace headway::sampling
