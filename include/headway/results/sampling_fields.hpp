#pragma once

#include "headway/core/record.hpp"
#include "headway/core/rng.hpp"
#include "headway/sampling/checkpoint.hpp"

// What a checkpoint holds of a chain. The samplers themselves know of no files. The lists are in
// the namespaces of their records, where argument-dependent lookup finds them.
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

template <class Visitor, RecordOf<DualAveragingState> Record>
void fields(Visitor& visit, Record& r) {
  visit("anchor", r.anchor, "mu");
  visit("mean_error", r.mean_error, "H-bar");
  visit("log_step_mean", r.log_step_mean, "log of the averaged step size");
  visit("count", r.count, "updates since the restart");
}

template <class Visitor, RecordOf<CovarianceState> Record>
void fields(Visitor& visit, Record& r) {
  visit("count", r.count, "positions in the window");
  visit("mean", r.mean, "of the positions");
  visit("squares", r.squares, "sum of squared deviations, or of information matrices");
}

template <class Visitor, RecordOf<EnergySums> Record>
void fields(Visitor& visit, Record& r) {
  visit("count", r.count, "transitions after warm-up");
  visit("last", r.last, "energy after the last of them");
  visit("mean", r.mean, "of the energies");
  visit("squares", r.squares, "sum of squared deviations from the mean");
  visit("steps", r.steps, "sum of squared differences of successive energies");
}

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
  visit("energies", r.energies, "of all transitions after warm-up", {.optional = true});
  visit("statistics", r.statistics, "of every kept draw", {.layout = FieldLayout::kColumns});
  visit("draws", r.draws, "kept positions, one draw after another");
  visit("log_likelihoods", r.log_likelihoods, "of every kept draw, with replica exchange",
        {.optional = true});
  visit("replicas", r.replicas, "hotter replicas of the chain", {.optional = true});
  visit("ladder", r.ladder, "replica exchange", {.optional = true});
}

template <class Visitor, RecordOf<Checkpoint> Record>
void fields(Visitor& visit, Record& r) {
  visit("settings", r.settings, "what fixes the draws, key = value");
  visit("chains", r.chains, "every chain between two transitions");
}

}  // namespace headway::sampling
