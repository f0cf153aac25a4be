#include "tasks/set_splits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/option_error.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/numerics/statistics.hpp"

namespace headway::tasks::detail {
namespace {

constexpr int kMostAttempts = 10'000;
constexpr double kShareRounding = 1e-9;

// Lists in which each element is at least the one before it plus `step`, from `lowest` to `last`.
void extend(std::vector<int>& list, int size, int lowest, int last, int step,
            std::vector<std::vector<int>>* out) {
  if (static_cast<int>(list.size()) == size) {
    out->push_back(list);
    return;
  }
  for (int element = lowest; element <= last; ++element) {
    list.push_back(element);
    extend(list, size, element + step, last, step, out);
    list.pop_back();
  }
}

std::vector<int> uncovered_elements(const std::vector<std::vector<int>>& train, int elements) {
  std::vector<char> seen(static_cast<std::size_t>(elements), 0);
  for (const auto& set : train) {
    for (const int element : set) seen[static_cast<std::size_t>(element)] = 1;
  }
  std::vector<int> uncovered;
  for (int element = 0; element < elements; ++element) {
    if (seen[static_cast<std::size_t>(element)] == 0) uncovered.push_back(element);
  }
  return uncovered;
}

}  // namespace

std::vector<std::vector<int>> subsets(int first, int elements, int size) {
  std::vector<std::vector<int>> all;
  std::vector<int> list;
  extend(list, size, first, first + elements - 1, 1, &all);
  return all;
}

std::vector<std::vector<int>> multisets(int elements, int size) {
  std::vector<std::vector<int>> all;
  std::vector<int> list;
  extend(list, size, 0, elements - 1, 0, &all);
  return all;
}

double binomial(int n, int k) {
  if (k > n) return 0.0;
  double product = 1.0;
  for (int i = 1; i <= k; ++i) product = product * (n - k + i) / i;
  return product;
}

Index held_out_count(double share, Index sets) {
  return static_cast<Index>(std::floor(share * static_cast<double>(sets) + kShareRounding));
}

SetSplit split_sets(const std::vector<std::vector<int>>& sets, int elements, double share,
                    bool reject_uncovered, std::uint64_t seed) {
  const auto held_out = held_out_count(share, static_cast<Index>(sets.size()));
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    std::vector<std::vector<int>> order = sets;
    Rng rng(seed, StreamPurpose::kSplits, static_cast<std::uint64_t>(attempt));
    numerics::shuffle(order, rng);
    SetSplit split;
    split.held_out.assign(order.begin(), order.begin() + held_out);
    split.train.assign(order.begin() + held_out, order.end());
    split.uncovered = uncovered_elements(split.train, elements);
    split.redraws = attempt;
    if (reject_uncovered && !split.uncovered.empty()) continue;
    std::sort(split.train.begin(), split.train.end());
    std::sort(split.held_out.begin(), split.held_out.end());
    return split;
  }
  throw OptionError(
      fmt::format("task.held_out = {}: must be smaller: none of {} random splits of {} sets leaves "
                  "every one of the {} elements in training. Or set reject_uncovered = false",
                  share, kMostAttempts, sets.size(), elements),
      {"task.held_out"});
}

}  // namespace headway::tasks::detail
