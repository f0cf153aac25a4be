#pragma once

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/prune_results.hpp"

namespace headway {

struct Study;

/// `headway prune`: head scores and pruning curves (eqs. 53 to 58). `known` as in align(). Without
/// a test set it warns, and accuracies and curves are undefined. After an interruption the result
/// has the points that are finished. Errors: as solve(); kBadStudy for learned attention. Cost
/// beside that of solve(): at each point one evaluation of the kernels and one prediction for each
/// head, and for each step of the greedy search one for each head that is left.
PruneResult prune(const Study& study, const tasks::Dataset& dataset,
                  Observer& observer = no_observer(), const SolveResult* known = nullptr);

}  // namespace headway
