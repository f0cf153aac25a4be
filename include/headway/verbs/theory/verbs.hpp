#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "headway/core/observer.hpp"
#include "headway/core/ranks.hpp"
#include "headway/results/sample_results.hpp"
#include "headway/results/sample_state.hpp"
#include "headway/study/shard.hpp"
#include "headway/study/study.hpp"
#include "headway/tasks/dataset.hpp"

namespace headway {

/// How long solutions are kept, sweep point by sweep point. Either may be empty.
struct SolveHooks {
  std::function<void(std::size_t point, const theory::SaddlePointState&)> save;
  /// What an earlier call left of this point; nothing: start afresh.
  std::function<std::optional<theory::SaddlePointState>(std::size_t point)> load;
};

/// `headway solve` (eq. 18 and what follows from it) on data in memory. Points not converged are
/// values, not errors. `shard`: one part of it, to be merged (schedule/merge.hpp).
SolveResult solve(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveHooks& hooks = {}, const Shard& shard = {});

/// Makes the study ready once, for a caller who wants one part after another. What it is given must
/// outlive the function that it returns.
using PartSolver = std::function<SolveResult(const Shard&)>;
PartSolver prepare_solve(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                         const SolveHooks& hooks = {});

/// The same with one problem at a time over all ranks (solve.kernels = "distributed"). All call it
/// together; the result is on the first, the others' is empty.
SolveResult solve_on_ranks(Ranks& ranks, const Study& study, const tasks::Dataset& dataset,
                           Observer& observer, const SolveHooks& hooks = {});

/// `headway align` and `headway prune` (eqs. 52 to 58). `known` reuses the U of an earlier
/// solve of the same study and data (its points must match the study's sweep).
AlignResult align(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveResult* known = nullptr);
PruneResult prune(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveResult* known = nullptr);

/// "(1,2)" path names etc. and the resolved architecture of one sweep point are derived from the
/// study and the data.
void check_study_against_dataset(const Study& study, const tasks::Dataset& dataset);

/// How a long sampling run is checkpointed, sweep point by sweep point. Either may be empty. A
/// state of another study or data set is refused (kBadStudy or kBadData).
struct SampleHooks {
  std::function<void(std::size_t point, const SampleState&)> save;
  /// What an earlier call left of this point; nothing: start afresh.
  std::function<std::optional<SampleState>(std::size_t point)> load;
  /// The same for chains of a point that are run apart from the others (SampleParts::chains), by
  /// the number of the first of them.
  std::function<void(std::size_t point, std::size_t chain, const SampleState&)> save_chains;
  std::function<std::optional<SampleState>(std::size_t point, std::size_t chain)> load_chains;
};

/// `headway sample`: posterior draws at every sweep point by the exact chain (eq. 34) or in weight
/// space (eq. 50), with convergence diagnostics; the theory is solved at the same points beside
/// them, or taken from `known` as `align` does. Interruption is a value: the last point then holds
/// the draws so far.
SampleResult sample(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                    const SampleHooks& hooks = {}, const SolveResult* known = nullptr,
                    const Shard& shard = {});

/// As prepare_solve(). Several processes may run the chains of one point, each a share of them
/// (leaves_of_part), and keep their states with SampleHooks::save_chains; `part` goes on from
/// whatever states it finds there, to the same bits.
struct SampleParts {
  std::function<SampleResult(const Shard&)> part;
  /// False when it was interrupted.
  std::function<bool(std::size_t point, const Shard& chains)> chains;
};
SampleParts prepare_sample(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                           const SampleHooks& hooks = {}, const SolveResult* known = nullptr);

}  // namespace headway
