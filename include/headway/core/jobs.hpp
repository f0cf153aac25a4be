#pragma once

#include <cstddef>
#include <functional>
#include <thread>

namespace headway {

/// Calls body(i) for i in [0, count), in rising order, on up to `jobs` threads at once that take no
/// signals (the calling thread waits and takes them). Unlike the bodies of parallel_for(), each may
/// use OpenMP itself. After an exception no other body begins. The first exception by index is
/// rethrown when the bodies at work have ended. With one job, or where no thread can be started,
/// all run in the calling thread.
void run_jobs(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& body);

/// Starts a thread that takes no signals, because the stack of a signal handler belongs to the
/// thread that installed it. Error{kUnavailable} where a limit forbids a thread.
std::jthread start_quiet_thread(std::function<void()> body);

/// How `count` jobs share `cores`: at once, and threads of each.
struct JobShare {
  int jobs = 1;
  int threads = 1;
};

/// `jobs` = 0: as many at once as `cores` allow; `threads` = 0: each takes its share of the cores.
/// At most `count` at once.
JobShare share_of_cores(std::size_t count, int jobs, int threads, int cores);

}  // namespace headway
