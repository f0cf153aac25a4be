#include "headway/core/parallel.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <thread>
#include <vector>

#include "core/shared_loop.hpp"
#include "headway/core/jobs.hpp"
#include "headway/error.hpp"

namespace headway {

namespace {

// GCC's OpenMP is not instrumented for the thread sanitizer, which therefore would not see how it
// orders its threads. A build with the sanitizer uses plain threads instead.
#ifdef HEADWAY_THREAD_SANITIZER

thread_local bool in_team = false;
bool is_in_team() { return in_team; }

void run_team(int threads, const std::function<void()>& work) {
  std::vector<std::jthread> team;
  for (int t = 0; t < threads; ++t) {
    team.push_back(start_quiet_thread([&] {
      in_team = true;
      work();
    }));
  }
}

#else

bool is_in_team() { return omp_in_parallel() != 0; }

void run_team(int threads, const std::function<void()>& work) {
#pragma omp parallel num_threads(threads)
  work();
}

#endif

}  // namespace

void parallel_for(Index count, int threads, const std::function<void(Index)>& body) {
  if (threads <= 1 || count <= 1 || is_in_team()) {
    for (Index i = 0; i < count; ++i) body(i);
    return;
  }
  threads = startable_threads(static_cast<int>(std::min<Index>(count, threads)));
  SharedLoop loop(count);
  run_team(threads, [&] { loop.work(body); });
  loop.rethrow();
}

int wanted_threads(int requested) {
  return requested > 0 ? requested : std::max(1, omp_get_max_threads());
}

int resolve_threads(int requested) { return startable_threads(wanted_threads(requested)); }

int startable_threads(int wanted) {
  static std::atomic<int> possible{1},
      limit{INT_MAX};  // no lock, which a forked copy might inherit
  wanted = std::min(std::max(wanted, 1), limit.load());
  if (wanted <= possible) return wanted;
  std::atomic<bool> done{false};
  int started = 1;
  {
    std::vector<std::jthread> others;
    try {
      for (; started < wanted; ++started) {
        others.push_back(start_quiet_thread([&done] { done.wait(false); }));
      }
    } catch (const Error&) {
      limit = started;
    }
    done = true;
    done.notify_all();
  }
  possible = std::max(possible.load(), started);
  return started;
}

}  // namespace headway
