#include "headway/core/parallel.hpp"

#include <omp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "headway/core/jobs.hpp"
#include "headway/error.hpp"

using headway::Index;
using headway::parallel_for;

TEST_CASE("Every index runs once, on any number of threads") {
  for (const int threads : {0, 1, 2, 5}) {
    std::vector<std::atomic<int>> runs(101);
    parallel_for(101, threads, [&](Index i) { ++runs[static_cast<std::size_t>(i)]; });
    for (const auto& count : runs) CHECK(count == 1);
  }
  bool ran = false;
  parallel_for(0, 4, [&](Index) { ran = true; });
  CHECK_FALSE(ran);
}

TEST_CASE("Where no further thread can be started, work goes on in the calling thread") {
  CHECK(headway::startable_threads(0) == 1);
  CHECK(headway::startable_threads(3) == 3);
  CHECK(headway::wanted_threads(1000) == 1000);
  // In a copy of the process without room for another thread's stack.
  const pid_t child = ::fork();
  if (child == 0) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{1} << 50U);
    if (pthread_setattr_default_np(&attributes) != 0) ::_exit(2);
    std::atomic<int> sum = 0;
    headway::run_jobs(5, 3, [&](std::size_t i) { sum += static_cast<int>(i); });
    bool refused = false;
    try {
      headway::start_quiet_thread([] {});
    } catch (const headway::Error& error) {
      refused = error.exit_code() == 69;
    }
    ::_exit(sum == 10 && refused && headway::startable_threads(7) == 1 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("The first exception by index comes out, after the running bodies end") {
  for (const int threads : {1, 4}) {
    std::atomic<int> running{0};
    try {
      parallel_for(50, threads, [&](Index i) {
        ++running;
        const bool fails = i == 0 || i == 1 || i == 30;
        --running;
        if (fails) throw std::runtime_error(std::to_string(i));
      });
      FAIL("no exception");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "0");
      CHECK(running == 0);
    }
  }
}

TEST_CASE("A nested call runs serially") {
  // OpenMP itself would let the inner call make a team of four.
  const int levels = omp_get_max_active_levels();
  omp_set_max_active_levels(2);
  std::atomic<int> elsewhere{0};
  parallel_for(4, 2, [&](Index) {
    const std::thread::id outer = std::this_thread::get_id();
    parallel_for(8, 4, [&](Index) {
      if (std::this_thread::get_id() != outer) ++elsewhere;
    });
  });
  omp_set_max_active_levels(levels);
  CHECK(elsewhere == 0);
}

TEST_CASE("resolve_threads gives what was asked, or all cores") {
  CHECK(headway::resolve_threads(3) == 3);
  CHECK(headway::resolve_threads(0) == omp_get_max_threads());
}
