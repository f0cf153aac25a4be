#pragma once

#include "course.hpp"
#include "headway/studies/gram.hpp"
#include "headway/studies/sample_results.hpp"
#include "headway/studies/training.hpp"

namespace headway::cli {

/// The outcome of a verb whose points are those of its solve: each must be converged and finite.
Outcome solve_outcome(const studies::SolveResult& result, double seconds);

/// A sampled point must have mixed chains. The theory beside it is a comparison: where it did not
/// converge the table says so.
Outcome sample_outcome(const studies::SampleResult& result);

/// A run must not have diverged.
Outcome train_outcome(const studies::TrainResult& result);

/// Gram matrices, or a part of them, are there or are not.
Outcome gram_outcome(const studies::GramResult& result);

}  // namespace headway::cli
