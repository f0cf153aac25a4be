#pragma once

#include <chrono>

namespace headway {

/// For how long something took: never goes back, whatever happens to the time of day.
using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace headway
