#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/results/sample_state.hpp"
#include "headway/sample_results.hpp"
#include "headway/shard.hpp"
#include "headway/theory_results.hpp"

namespace headway {

struct Study;

/// How a long sampling run is checkpointed, sweep point by sweep point. Any function may be empty.
/// A state of another study or data set is refused (kBadStudy or kBadData).
struct SampleHooks {
  std::function<void(std::size_t point, const SampleState&)> save;
  /// What an earlier call left of this point; nothing: start afresh.
  std::function<std::optional<SampleState>(std::size_t point)> load;
  /// The same for chains of a point that are run apart from the others (SampleParts::chains), by
  /// the number of the first of them.
  std::function<void(std::size_t point, std::size_t chain, const SampleState&)> save_chains;
  std::function<std::optional<SampleState>(std::size_t point, std::size_t chain)> load_chains;
};

/// `headway sample`: posterior draws at every sweep point by the exact chain (eq. 34; with learned
/// attention eq. 73) or in weight space (eq. 50), with convergence diagnostics. The theory is
/// solved at the same points, or taken from `known` as `align` does. After an interruption the last
/// point holds the draws so far. Errors: as solve(); kBadStudy for weights of Gram matrices, which
/// have no examples, and for chains that find no place to start; kBadStudy or kBadData for a
/// checkpoint of another run. Chains that have not mixed are warnings of the point. Cost beside
/// that of solve(): one evaluation of the posterior and its gradient a leapfrog step.
SampleResult sample(const Study& study, const tasks::Dataset& dataset,
                    Observer& observer = no_observer(), const SampleHooks& hooks = {},
                    const SolveResult* known = nullptr, const Shard& shard = {});

/// As prepare_solve(). Several processes may run the chains of one point, each a share of them
/// (leaves_of_part), and keep their states with SampleHooks::save_chains. `part` continues from
/// the states that it finds there. The draws are the same to the last bit. Errors: as sample().
struct SampleParts {
  std::function<SampleResult(const Shard&)> part;
  /// False when it was interrupted.
  std::function<bool(std::size_t point, const Shard& chains)> chains;
};
SampleParts prepare_sample(const Study& study, const tasks::Dataset& dataset,
                           Observer& observer = no_observer(), const SampleHooks& hooks = {},
                           const SolveResult* known = nullptr);

}  // namespace headway
