// A clock that is set again and again, to be loaded before a program (LD_PRELOAD): every look at
// the time of day finds it a year ahead, right, or a year behind in turn. Clocks that nobody sets
// (CLOCK_MONOTONIC and the like) stay.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace {

constexpr std::time_t kYear = 31'557'600;

timespec jumping_now() {
  static std::atomic<unsigned> looks{0};
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  now.tv_sec += kYear * (1 - static_cast<std::time_t>(looks++ % 3));
  return now;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  }
  *time = jumping_now();
  return 0;
}

int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  const timespec now = jumping_now();
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

std::time_t time(std::time_t* where) noexcept {
  const std::time_t now = jumping_now().tv_sec;
  if (where != nullptr) *where = now;
  return now;
}
}
