#pragma once

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"

namespace headway {

/// `headway align`: kernel-task alignment (eqs. 51, 52 and 54). `known` reuses the U of an earlier
/// solve of the same study and data (its points must match the study's sweep).
AlignResult align(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveResult* known = nullptr);

}  // namespace headway
