#pragma once

#include <fmt/format.h>

#include <vector>

#include "headway/error.hpp"
#include "headway/observer.hpp"
#include "headway/training/head_removal.hpp"
#include "headway/training/training_task.hpp"
#include "headway/verbs/networks/trained.hpp"

/// Private to verbs.
namespace headway {

/// training::check_removal() on a few training examples: a removal that does nothing, or too much,
/// gives numbers like any other. An error names the run, since a result has several.
inline void check_heads_come_off(const TrainedNetwork& network,
                                 const training::TransformerOptions& model,
                                 const training::TrainingTask& task,
                                 const std::vector<training::NamedTensor>& parameters,
                                 const Observer& observer) {
  constexpr Index kExamples = 2;
  training::TaskBatch few;
  task.batch("train", 0, kExamples, few);
  const training::MeanHeads means(model, task.format(), parameters, few, 1, observer);
  try {
    training::check_removal(
        {model, task.format(), parameters, few},
        [&](const std::vector<int>& heads) {
          return training::without_heads(model, parameters, heads);
        },
        [&](const std::vector<int>& heads) { return means.without(heads); });
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("run {} ({}, seed {}): {}", network.run, network.label,
                                          network.study.seed, error.what()));
  }
}

}  // namespace headway
