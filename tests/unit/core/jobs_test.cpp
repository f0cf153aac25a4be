#include "headway/core/jobs.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "headway/core/parallel.hpp"

using namespace headway;

namespace {

/// Waits until `count` is at least `wanted`; for ten seconds at most, on a machine that is busy.
void wait_for(const std::atomic<int>& count, int wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (count < wanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace

TEST_CASE("every job runs once, at most so many at a time") {
  for (const std::size_t jobs : {1U, 2U, 3U, 7U}) {
    std::vector<int> runs(20, 0);
    std::atomic<int> begun = 0;
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    run_jobs(runs.size(), jobs, [&](std::size_t i) {
      const int together = ++now;
      for (int seen = most; together > seen && !most.compare_exchange_weak(seen, together);) {
      }
      ++runs[i];
      ++begun;
      wait_for(begun, static_cast<int>(jobs));  // the first ones meet
      --now;
    });
    CHECK(runs == std::vector<int>(20, 1));
    CHECK(most == static_cast<int>(jobs));
  }
}

TEST_CASE("jobs may use threads of their own, and take no signals") {
  std::atomic<int> sum = 0;
  std::atomic<int> open_to_signals = 0;
  run_jobs(3, 3, [&](std::size_t) {
    parallel_for(10, 2, [&](Index i) { sum += static_cast<int>(i); });
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    open_to_signals += sigismember(&mask, SIGINT) == 1 ? 0 : 1;
  });
  CHECK(sum == 3 * 45);
  CHECK(open_to_signals == 0);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  CHECK(sigismember(&mask, SIGINT) == 0);
}

TEST_CASE("after an exception no job begins, and the first by index is thrown") {
  std::atomic<int> begun = 0;
  std::atomic<int> thrown = 0;
  const auto body = [&](std::size_t i) {
    ++begun;
    wait_for(begun, 3);
    wait_for(thrown, 2 - static_cast<int>(i));  // the last one throws first
    ++thrown;
    throw std::runtime_error(std::to_string(i));
  };
  CHECK_THROWS_WITH(run_jobs(100, 3, body), "0");
  CHECK(begun == 3);
}

TEST_CASE("jobs share the cores") {
  const auto share = [](std::size_t count, int jobs, int threads, int cores) {
    const JobShare s = share_of_cores(count, jobs, threads, cores);
    return std::pair(s.jobs, s.threads);
  };
  CHECK(share(6, 0, 0, 8) == std::pair(6, 1));    // as many as there are runs
  CHECK(share(100, 0, 0, 8) == std::pair(8, 1));  // as there are cores
  CHECK(share(100, 0, 3, 8) == std::pair(2, 3));
  CHECK(share(1, 0, 0, 8) == std::pair(1, 8));  // one run has them all
  CHECK(share(1, 4, 0, 8) == std::pair(1, 8));
  CHECK(share(10, 4, 0, 8) == std::pair(4, 2));
  CHECK(share(10, 4, 3, 2) == std::pair(4, 3));  // as told
  CHECK(share(10, 4, 0, 2) == std::pair(4, 1));
  CHECK(share(10, 0, 16, 2) == std::pair(1, 16));
  CHECK(share(0, 0, 0, 2) == std::pair(1, 2));
}
