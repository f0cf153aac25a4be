#pragma once

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"

namespace headway {

/// `headway align`: kernel-task alignment (eq. 52). The U come from `known`, an earlier solve of
/// the same study and data. Without it, and at points that it lacks, the theory is solved first.
AlignResult align(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveResult* known = nullptr);

}  // namespace headway
