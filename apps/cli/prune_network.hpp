#pragma once

#include "computation.hpp"
#include "headway/observer.hpp"
#include "options.hpp"

namespace headway::cli {

/// Is the input of `headway prune` a train result? Then it does what `headway prune-network` does,
/// as it did before that verb had a name of its own.
bool prunes_networks(const Options& options);

/// `headway prune` of a train result; throws headway::Error.
Computation prune_network(const Options& options, Observer& observer);

}  // namespace headway::cli
