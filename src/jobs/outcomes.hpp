#pragma once

#include <fmt/format.h>

#include "headway/gram_results.hpp"
#include "headway/jobs/job.hpp"
#include "headway/sample_results.hpp"
#include "headway/train_results.hpp"

namespace headway::jobs {

/// For verbs of the theory: every point must have converged and be finite.
Outcome solve_outcome(const SolveResult& result, double seconds);
/// Of a verb that did its own work at `done` of the solved points.
Outcome solve_outcome(const SolveResult& result, double seconds, std::size_t done);

/// The chains of every point must have mixed. The theory beside them need not have converged: the
/// table says where it has not.
Outcome sample_outcome(const SampleResult& result);

/// `what` were to be computed: nothing makes the runs of trained networks unusable.
template <class Run>
Outcome networks_outcome(const NetworkRuns<Run>& result, const char* what = "networks") {
  return {fmt::format("{} of {} {}", result.runs.size(), result.planned, what), result.interrupted,
          result.seconds, result.threads};
}

/// No run may have diverged.
Outcome train_outcome(const TrainResult& result);

/// A Gram matrix has no way to be unusable.
Outcome gram_outcome(const GramResult& result);

}  // namespace headway::jobs
