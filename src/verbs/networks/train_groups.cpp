// Which runs of a sweep are trained one after another, and which side by side.
#include <algorithm>

#include "headway/train.hpp"
#include "headway/training/training_stack.hpp"

namespace headway {

std::vector<std::vector<std::size_t>> groups_of_precision(std::span<const TrainRun> runs,
                                                          const std::vector<std::size_t>& numbers,
                                                          int jobs) {
  if (jobs <= 1) return {numbers};
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t number : numbers) {
    const training::Precision precision = runs[number].study.train.run.precision;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return runs[group.front()].study.train.run.precision == precision;
    });
    if (same != groups.end()) {
      same->push_back(number);
    } else {
      groups.push_back({number});
    }
  }
  return groups;
}

Stacks stacks_of(std::span<const TrainRun> runs, const std::vector<std::size_t>& numbers,
                 int jobs) {
  Stacks all;
  std::vector<std::vector<std::size_t>> alike;
  for (const std::size_t number : numbers) {
    const Study& study = runs[number].study;
    const auto same = std::find_if(alike.begin(), alike.end(), [&](const auto& some) {
      const Study& other = runs[some.front()].study;
      return training::fit_one_stack(study.train.model, resolved_run(study), other.train.model,
                                     resolved_run(other));
    });
    if (same != alike.end()) {
      same->push_back(number);
    } else {
      alike.push_back({number});
    }
  }
  for (const std::vector<std::size_t>& some : alike) {
    const auto most = static_cast<std::size_t>(std::max(jobs, 1));
    const std::size_t stacks = (some.size() + most - 1) / most;
    for (std::size_t i = 0; i < stacks; ++i) {
      const auto at = [&](std::size_t stack) {
        return some.begin() + static_cast<std::ptrdiff_t>(stack * some.size() / stacks);
      };
      const std::vector<std::size_t> stack(at(i), at(i + 1));
      if (stack.size() > 1) {
        all.stacks.push_back(stack);
      } else {
        all.alone.push_back(stack.front());
      }
    }
  }
  return all;
}

}  // namespace headway
