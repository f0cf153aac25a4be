#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/core/rng.hpp"
#include "headway/sampling/options.hpp"
#include "headway/types.hpp"

namespace headway {

template <class Visitor, RecordOf<Rng::State> Record>
void fields(Visitor& visit, Record& r) {
  visit("counter", r.counter, "of Philox: the next block");
  visit("key", r.key, "of Philox: the seed");
  visit("block", r.block, "words of the block last made");
  visit("used", r.used, "words of it that are used");
  visit("spare_normal", r.spare_normal, "second normal of a pair");
  visit("has_spare", r.has_spare, "it is still to be drawn");
}

}  // namespace headway

namespace headway::sampling {

/// What one transition did; a kept draw has one of these. With thin > 1 it sums over the thinned
/// transitions.
struct TransitionStatistics {
  double log_density = 0.0;     ///< at the new position
  double energy = 0.0;          ///< Hamiltonian of the new state; NaN for samplers without momentum
  double acceptance = 0.0;      ///< mean Metropolis probability; NaN where every move is taken
  double step_size = 0.0;       ///< of this transition; 0 for samplers without one
  std::int32_t tree_depth = 0;  ///< NUTS: doublings; largest when thinned
  std::int32_t evaluations = 0;  ///< of the (gradient of the) density
  bool divergent = false;
  bool saturated = false;  ///< stopped by max_tree_depth or max_leapfrog_steps
  bool operator==(const TransitionStatistics&) const = default;
};

template <class Visitor, RecordOf<TransitionStatistics> Record>
void fields(Visitor& visit, Record& r) {
  visit("log_density", r.log_density, "at the new position");
  visit("energy", r.energy, "Hamiltonian of the new state");
  visit("acceptance", r.acceptance, "mean Metropolis probability");
  visit("step_size", r.step_size, "of this transition");
  visit("tree_depth", r.tree_depth, "doublings of NUTS");
  visit("evaluations", r.evaluations, "of the density");
  visit("divergent", r.divergent, "the trajectory left the level set");
  visit("saturated", r.saturated, "the trajectory was cut short");
}

/// Nesterov's dual averaging as in Hoffman and Gelman 2014, section 3.2.
struct DualAveragingState {
  double anchor = 0.0;         ///< mu = log(10 * step size at the last restart)
  double mean_error = 0.0;     ///< H-bar
  double log_step_mean = 0.0;  ///< log of the averaged step size
  std::int64_t count = 0;
};

template <class Visitor, RecordOf<DualAveragingState> Record>
void fields(Visitor& visit, Record& r) {
  visit("anchor", r.anchor, "mu");
  visit("mean_error", r.mean_error, "H-bar");
  visit("log_step_mean", r.log_step_mean, "log of the averaged step size");
  visit("count", r.count, "updates since the restart");
}

/// Running mean and sum of squared deviations (Welford) of the positions in the current window; for
/// MetricKind::kInformation the sum of the information matrices of `count` positions.
struct CovarianceState {
  std::int64_t count = 0;
  VectorXd mean;
  MatrixXd squares;  ///< d x 1 for the diagonal, d x d for the whole matrix
};

template <class Visitor, RecordOf<CovarianceState> Record>
void fields(Visitor& visit, Record& r) {
  visit("count", r.count, "positions in the window");
  visit("mean", r.mean, "of the positions");
  visit("squares", r.squares, "sum of squared deviations, or of information matrices");
}

/// Replica exchange of one chain. Replica 0 is the chain itself, at inverse temperature 1.
struct LadderState {
  std::vector<double> inverse_temperatures;  ///< 1, ..., 0
  std::vector<double> log_likelihood;        ///< of each replica where it stands
  std::vector<double> rejected;  ///< sum of rejection probabilities between replicas k and k + 1
  std::vector<double> attempts;  ///< that it is summed over
  std::int64_t rounds = 0;       ///< of exchanges
  std::int64_t next = 0;         ///< replica that moves next; 0: exchanges come first
  std::int64_t exchanges = 0;    ///< accepted after warm-up, all neighbours
  Rng::State rng;
};

template <class Visitor, RecordOf<LadderState> Record>
void fields(Visitor& visit, Record& r) {
  visit("inverse_temperatures", r.inverse_temperatures, "of the likelihood, 1, ..., 0");
  visit("log_likelihood", r.log_likelihood, "of each replica where it stands");
  visit("rejected", r.rejected, "sum of rejection probabilities between neighbours");
  visit("attempts", r.attempts, "exchanges that it is summed over");
  visit("rounds", r.rounds, "of exchanges");
  visit("next", r.next, "replica that moves next; 0: exchanges come first");
  visit("exchanges", r.exchanges, "accepted after warm-up");
  visit("rng", r.rng, "where the random stream stands");
}

/// Everything about one chain between two transitions: enough to go on to the same bits. Plain
/// data.
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
  std::int64_t evaluations = 0;  ///< of the density, all in all
  std::int64_t warmup_divergences = 0;
  std::vector<TransitionStatistics> statistics;  ///< one per kept draw
  std::vector<double> draws;  ///< kept positions, d doubles each; empty unless keep_draws
  // Replica exchange; empty without.
  LadderState ladder;
  std::vector<double> log_likelihoods;  ///< one per kept draw
  std::vector<ChainState> replicas;     ///< 1, 2, ..., hotter and hotter

  /// Kept draws as columns, d x kept (no columns when the draws were not kept).
  [[nodiscard]] Eigen::Map<const MatrixXd> draw_matrix() const;
};

template <class Visitor, RecordOf<ChainState> Record>
void fields(Visitor& visit, Record& r) {
  visit("chain", r.chain, "from 0");
  visit("started", r.started, "a starting position was found");
  visit("iteration", r.iteration, "transitions done, warm-up included");
  visit("rng", r.rng, "where the random stream stands");
  visit("position", r.position, "[d]");
  visit("gradient", r.gradient, "of the log density there, [d]");
  visit("log_density", r.log_density, "there");
  visit("step_size", r.step_size, "of the next transition");
  visit("dual_averaging", r.dual_averaging, "adaptation of the step size");
  visit("inverse_metric", r.inverse_metric, "[d, 1] or [d, d]");
  visit("window", r.window, "adaptation of the metric");
  visit("pending", r.pending, "transitions since the last kept draw");
  visit("evaluations", r.evaluations, "of the density, all in all");
  visit("warmup_divergences", r.warmup_divergences, "divergent transitions of the warm-up");
  visit("statistics", r.statistics, "of every kept draw", {.layout = FieldLayout::kColumns});
  visit("draws", r.draws, "kept positions, one draw after another");
  visit("log_likelihoods", r.log_likelihoods, "of every kept draw, with replica exchange",
        {.optional = true});
  visit("replicas", r.replicas, "hotter replicas of the chain", {.optional = true});
  visit("ladder", r.ladder, "replica exchange", {.optional = true});
}

/// The whole run between transitions.
struct Checkpoint {
  /// "key = value" lines of all that fixes the draws: options, dimension, the target's fingerprint.
  std::string settings;
  std::vector<ChainState> chains;
};

template <class Visitor, RecordOf<Checkpoint> Record>
void fields(Visitor& visit, Record& r) {
  visit("settings", r.settings, "what fixes the draws, key = value");
  visit("chains", r.chains, "every chain between two transitions");
}

/// The `settings` of a run.
std::string describe_settings(const SamplerOptions& options, Index dimension,
                              std::string_view target_fingerprint);

/// Throws Error kBadStudy when the checkpoint belongs to other settings (naming the first that
/// differs), kBadData when it does not fit together. A run may be resumed with more draws than it
/// was started with.
void require_matching(const Checkpoint& checkpoint, const SamplerOptions& options, Index dimension,
                      std::string_view target_fingerprint);

}  // namespace headway::sampling
