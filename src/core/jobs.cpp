#include "headway/core/jobs.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/shared_loop.hpp"

namespace headway {
namespace {

/// Keeps signals from the threads that are started in its lifetime: a handler's stack belongs to
/// one thread, the one that installed it.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

void run_jobs(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& body) {
  if (jobs <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  SharedLoop loop(static_cast<Index>(count));
  const auto work = [&] { loop.work([&](Index i) { body(static_cast<std::size_t>(i)); }); };
  bool none = false;
  {
    std::vector<std::jthread> threads;
    const SignalsBlocked blocked;
    try {
      for (std::size_t t = 0; t < std::min(jobs, count); ++t) threads.emplace_back(work);
    } catch (const std::system_error&) {
      // A limit on threads was met. The threads that exist do all jobs.
    }
    none = threads.empty();
    // Signals come again before the wait: `blocked` is destroyed first, then the threads are
    // joined.
  }
  if (none) work();
  loop.rethrow();
}

std::jthread start_quiet_thread(std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    return std::jthread(std::move(body));
  } catch (const std::system_error& error) {
    fail(ErrorKind::kUnavailable,
         "no thread can be started ({}): not enough memory, or a limit on threads (ulimit -u)",
         error.code().message());
  }
}

JobShare share_of_cores(std::size_t count, int jobs, int threads, int cores) {
  const int most = static_cast<int>(std::min<std::size_t>(count, 1U << 20U));
  if (jobs <= 0) jobs = cores / std::max(threads, 1);
  jobs = std::clamp(jobs, 1, std::max(most, 1));
  if (threads <= 0) threads = std::max(cores / jobs, 1);
  return {jobs, threads};
}

}  // namespace headway
