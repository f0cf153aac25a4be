#pragma once

#include "course.hpp"
#include "headway/gram.hpp"
#include "headway/sample_results.hpp"
#include "headway/train.hpp"

namespace headway::cli {

/// For verbs of the theory: every point must have converged and be finite.
Outcome solve_outcome(const SolveResult& result, double seconds);

/// The chains of every point must have mixed. The theory beside them need not have converged: the
/// table says where it has not.
Outcome sample_outcome(const SampleResult& result);

/// No run may have diverged.
Outcome train_outcome(const TrainResult& result);

/// A Gram matrix has no way to be unusable.
Outcome gram_outcome(const GramResult& result);

}  // namespace headway::cli
