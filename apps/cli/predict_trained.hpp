#pragma once

#include "computation.hpp"
#include "headway/observer.hpp"
#include "options.hpp"

namespace headway::cli {

/// `headway predict` of a train result: its networks themselves predict. Throws headway::Error.
Computation predict_with_networks(const Options& options, Observer& observer);

}  // namespace headway::cli
