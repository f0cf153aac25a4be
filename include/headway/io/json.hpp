#pragma once

#include <cstddef>
#include <string>

#include "headway/studies/results.hpp"
#include "headway/studies/study.hpp"
#include "headway/studies/training.hpp"

namespace headway::io {

// One JSON object per result (contract "JSON of solve --json"), on several lines, without a final
// newline. Doubles are written with as many digits as read back to the same double; undefined or
// not finite is null. U_a is a number for one output and a C x C matrix otherwise.

std::string solve_json(const studies::Study& study, const studies::SolveResult& result);

/// solve_json, and in each point overlaps, cumulative and eigenvalues, renormalised and of the
/// Gaussian process.
std::string align_json(const studies::Study& study, const studies::AlignResult& result);

/// solve_json, and in each point heads and cumulative.
std::string prune_json(const studies::Study& study, const studies::PruneResult& result);

/// Posterior means with their errors and diagnostics at each sampled point, and the theory there
/// under "theory".
std::string sample_json(const studies::Study& study, const studies::SampleResult& result);

/// One line of `train --json`: {"run": 1, "variant": .., "seed": .., "step": .., "split": ..,
/// "loss": .., metrics.., "steps_per_second": ..}. Runs are counted from 1.
std::string train_record_json(std::size_t run, const studies::TrainedRun& trained,
                              const training::TrainRecord& record);

/// The last line of `train --json`: {"summary": true, "study": .., "runs": [..], "table": [..]}.
std::string train_summary_json(const studies::Study& study, const studies::TrainResult& result);

}  // namespace headway::io
