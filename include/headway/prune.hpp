#pragma once

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/prune_results.hpp"
#include "headway/study.hpp"

namespace headway {

/// `headway prune`: head scores and pruning curves (eqs. 53 to 58). `known` as in align().
PruneResult prune(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveResult* known = nullptr);

}  // namespace headway
