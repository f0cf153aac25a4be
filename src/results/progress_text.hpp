#pragma once

#include <string>

#include "headway/results/sample_state.hpp"
#include "headway/train_results.hpp"

namespace headway {

/// How far a sweep point or a run is, in two lines for people.
std::string progress_text(const SampleState& state);
std::string progress_text(const TrainedRun& run);

}  // namespace headway
