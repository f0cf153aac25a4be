#pragma once

#include "headway/sampling/sample.hpp"

namespace headway::sampling {

/// Why a call of sample() returned.
enum class RunEnd {
  kComplete,         ///< every draw of the run was made
  kInterrupted,      ///< the user stopped it
  kOtherChainsLeft,  ///< its own chains are done, and other calls make the rest
};

/// Numbers and warnings of a run whose chains have ended. Does not set seconds and threads.
SamplingSummary summarize(const SamplingResult& result, const SamplerOptions& options, RunEnd end);

}  // namespace headway::sampling
