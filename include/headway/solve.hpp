#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/shard.hpp"
#include "headway/solution.hpp"
#include "headway/theory_results.hpp"

namespace headway {

class Ranks;
struct Study;

/// How long solutions are checkpointed, sweep point by sweep point. Either function may be empty.
/// Several threads call them at once, for different points.
struct SolveHooks {
  std::function<void(std::size_t point, const theory::SaddlePointState&)> save;
  /// What an earlier call left of this point; nothing: start afresh.
  std::function<std::optional<theory::SaddlePointState>(std::size_t point)> load;
};

/// `headway solve` (eq. 18 and what follows from it) on data in memory. Points not converged are
/// values, not errors. `shard`: one part of it, to be merged (headway/schedule.hpp). After an
/// interruption the result has the points that are finished. Errors: as
/// check_study_against_dataset(); kBadStudy for kernels that these data cannot have, and where
/// K + T I of the Gaussian process is not positive definite; kBadData, naming the example, for
/// features and labels that are not finite or whose products overflow; kInterrupted when stopped
/// while the path features are made. With learned attention kBadData for data without inputs. Time
/// and memory: those of plan_theory().
SolveResult solve(const Study& study, const tasks::Dataset& dataset,
                  Observer& observer = no_observer(), const SolveHooks& hooks = {},
                  const Shard& shard = {});

/// Makes the study ready once, for a caller who wants one part after another. The arguments must
/// outlive the function that is returned. Errors of study and data come here, those of points from
/// the function. Cost: the path features and kernels, once.
using PartSolver = std::function<SolveResult(const Shard&)>;
PartSolver prepare_solve(const Study& study, const tasks::Dataset& dataset,
                         Observer& observer = no_observer(), const SolveHooks& hooks = {});

/// The same with one problem at a time over all ranks (solve.kernels = "distributed"). All call it
/// together; the result is on the first, the others' is empty. Errors: as solve(), on all ranks.
/// Each rank holds its share of the kernels.
SolveResult solve_on_ranks(Ranks& ranks, const Study& study, const tasks::Dataset& dataset,
                           Observer& observer = no_observer(), const SolveHooks& hooks = {});

/// Error unless study and data fit each other: kBadStudy for heads, readout, widths or
/// temperatures, kBadData as tasks::check_dataset(). Cost: none to speak of.
void check_study_against_dataset(const Study& study, const tasks::Dataset& dataset);

}  // namespace headway
