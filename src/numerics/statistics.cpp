#include "headway/numerics/statistics.hpp"

#include <algorithm>
#include <numeric>

namespace headway::numerics {

Moments moments(std::span<const double> values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0.0;
  for (const double x : values) squares += (x - mean) * (x - mean);
  return {count, mean, squares};
}

double quantile_of_sorted(std::span<const double> sorted, double probability) {
  if (sorted.empty()) return kUndefined;
  const double place = probability * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(place));
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - std::floor(place)) * (sorted[high] - sorted[low]);
}

std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [values](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double shared = 0.5 * static_cast<double>(begin + 1 + end);  // mean of begin+1, ..., end
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = shared;
    begin = end;
  }
  return ranks;
}

}  // namespace headway::numerics
