#pragma once

#include "headway/sampling/sample.hpp"

namespace headway::sampling {

/// Numbers and warnings of a run whose chains have ended. `complete`: every draw was made. Does not
/// set seconds and threads.
SamplingSummary summarize(const SamplingResult& result, const SamplerOptions& options,
                          bool complete);

}  // namespace headway::sampling
