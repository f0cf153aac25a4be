#pragma once

#include <cstddef>
#include <string>

#include "headway/studies/evaluate.hpp"
#include "headway/studies/latents.hpp"
#include "headway/studies/sample_results.hpp"
#include "headway/studies/study.hpp"
#include "headway/studies/training.hpp"

namespace headway::io {

// One JSON object per result (src/io/README.md, "JSON"), on several lines, without a final
// newline. Doubles are written with as many digits as read back to the same double; undefined or
// not finite is null. U_a is a number for one output and a C x C matrix otherwise.

std::string solve_json(const studies::Study& study, const studies::SolveResult& result);

/// solve_json, and in each point overlaps, cumulative and eigenvalues, renormalised and of the
/// Gaussian process.
std::string align_json(const studies::Study& study, const studies::AlignResult& result);

/// solve_json, and in each point heads and cumulative (whose greedy_on is the set that the greedy
/// order was searched on). Where the data set carries a trained network: "network" at the top
/// (rescaled, measured_on, greedy_on, sensitivity_on; accuracy on all sets; U_1; heads with their
/// drops; scores weight_norm, path_norm, sensitivity and own_score; greedy; random) and in each
/// point (scores "score" and "score_weighted"). A score has a number for each head, its rank
/// correlations with accuracy_drop and error_rise, and the curves rising (lowest first) and
/// falling; a curve its order, accuracy and accuracy_error, and mean_squared_error.
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

/// {"study": .., "runs": [{"variant": .., "seed": .., "task": .., "layers": [{"layer": 1, "codes":
/// .., "heads": .., "decoders": [..], "similarity": {..}}], "all_layers": {..}}], "table": [..],
/// "seconds": ..}.
std::string latents_json(const studies::Study& study, const studies::LatentsResult& result);

/// {"study": .., "evaluated_on": "[task] ...", "runs": [{"variant": .., "seed": .., "evaluations":
/// {split: {"loss": .., metrics..}}}], "table": [{"label": .., "metrics": [..]}], "seconds": ..}.
std::string evaluate_json(const studies::Study& study, const studies::EvaluateResult& result);

}  // namespace headway::io
