#pragma once

#include "computation.hpp"
#include "headway/observer.hpp"
#include "options.hpp"

namespace headway::cli {

/// Is the input a train result, whose networks are pruned themselves?
bool prunes_networks(const Options& options);

/// Prunes them; throws headway::Error.
Computation prune_networks(const Options& options, Observer& observer);

}  // namespace headway::cli
