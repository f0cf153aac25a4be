#pragma once

#include "headway/observer.hpp"
#include "headway/results/network_results.hpp"
#include "headway/study.hpp"
#include "verbs/network_pruner.hpp"
#include "verbs/theory/problem.hpp"

/// Private to verbs: pruning of the trained network that a data set carries.
namespace headway {

/// What head removal needs of the linear-value network that a data set carries; `problem` must
/// outlive it.
PrunableNetwork prunable(const NetworkProblem& problem, const PruneOptions& options);

/// All of its pruning that is the same for all points of the theory.
NetworkPruning prune_carried_network(const NetworkProblem& problem, const Study& study,
                                     const NetworkPruner& pruner, Observer& observer);

}  // namespace headway
