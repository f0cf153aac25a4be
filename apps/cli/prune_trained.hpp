#pragma once

#include "options.hpp"

namespace headway::cli {

/// Is the input a train result, whose networks are pruned themselves?
bool prunes_networks(const Options& options);

/// The exit code; throws headway::Error.
int prune_networks(const Options& options);

}  // namespace headway::cli
