#pragma once

#include <string>

#include "headway/studies/sample_state.hpp"
#include "headway/studies/training.hpp"

namespace headway::studies {

/// How far a sweep point or a run is, in two lines for people.
std::string progress_text(const SampleState& state);
std::string progress_text(const TrainedRun& run);

}  // namespace headway::studies
