#pragma once

#include "course.hpp"
#include "headway/studies/gram.hpp"
#include "headway/studies/sample_results.hpp"
#include "headway/studies/training.hpp"

namespace headway::cli {

/// For verbs of the theory: every point must have converged and be finite.
Outcome solve_outcome(const studies::SolveResult& result, double seconds);

/// The chains of every point must have mixed. The theory beside them need not have converged: the
/// table says where it has not.
Outcome sample_outcome(const studies::SampleResult& result);

/// No run may have diverged.
Outcome train_outcome(const studies::TrainResult& result);

/// A Gram matrix has no way to be unusable.
Outcome gram_outcome(const studies::GramResult& result);

}  // namespace headway::cli
