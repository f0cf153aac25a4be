#pragma once

#include <chrono>

namespace headway {

/// Measures durations. It never goes back, even when the time of day is set back.
using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace headway
