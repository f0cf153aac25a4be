#pragma once

#include <vector>

#include "headway/observer.hpp"
#include "headway/training/head_removal.hpp"
#include "headway/training/training_task.hpp"

/// Private to verbs.
namespace headway {

/// training::check_removal() on a few training examples: a removal that does nothing, or too much,
/// gives numbers like any other.
inline void check_heads_come_off(const training::TransformerOptions& model,
                                 const training::TrainingTask& task,
                                 const std::vector<training::NamedTensor>& parameters,
                                 const Observer& observer) {
  constexpr Index kExamples = 2;
  training::TaskBatch few;
  task.batch("train", 0, kExamples, few);
  const training::MeanHeads means(model, task.format(), parameters, few, 1, observer);
  training::check_removal(
      {model, task.format(), parameters, few},
      [&](const std::vector<int>& heads) {
        return training::without_heads(model, parameters, heads);
      },
      [&](const std::vector<int>& heads) { return means.without(heads); });
}

}  // namespace headway
