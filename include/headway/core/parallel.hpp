#pragma once

#include <functional>

#include "headway/types.hpp"

namespace headway {

/// Calls body(i) for i in [0, count) on up to `threads` threads (one level: a nested call runs
/// serially). The first exception by index is rethrown after all running bodies end; none crosses
/// the OpenMP region. Results must not depend on which thread runs which index.
void parallel_for(Index count, int threads, const std::function<void(Index)>& body);

/// Threads to use when the user asked for `requested` (0 = all cores that OpenMP offers): as many
/// of them as can be started.
int resolve_threads(int requested);

/// The same, without a test whether so many threads can be started.
int wanted_threads(int requested);

/// How many threads this process can have at once, up to `wanted`, the calling one included. It is
/// tried because of limits (ulimit -u, a container's): beyond one, OpenMP ends the process, and
/// LibTorch waits for ever. Neither a number that was possible nor a limit that was met is tried
/// again.
int startable_threads(int wanted);

}  // namespace headway
