#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "headway/numerics/statistics.hpp"

/// Seconds by the clock on the wall.
inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return headway::numerics::quantile_of_sorted(values, 0.5);
}

/// The median over `repeats` calls of `measure`, which says how many seconds it took.
inline double median_of(int repeats, const std::function<double()>& measure) {
  std::vector<double> times;
  for (int r = 0; r < repeats; ++r) times.push_back(measure());
  return median(std::move(times));
}
