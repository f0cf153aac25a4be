#pragma once

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/theory_results.hpp"

namespace headway {

struct Study;

/// `headway align`: kernel-task alignment (eq. 52). The U come from `known`, an earlier solve of
/// the same study and data. Without it, and at points that it lacks, the theory is solved first.
/// After an interruption the result has the points that are finished. Errors: as solve(); kBadStudy
/// for Gram matrices, which have no examples, and for learned attention; kUnavailable for more than
/// 32766 examples times outputs. Cost beside that of solve(): an eigenproblem of (P C)^3 at each
/// point, of alignment_bytes(P C) of memory, and one of the Gaussian process.
AlignResult align(const Study& study, const tasks::Dataset& dataset,
                  Observer& observer = no_observer(), const SolveResult* known = nullptr);

}  // namespace headway
