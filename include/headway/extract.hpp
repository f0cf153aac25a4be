#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headway/extract_results.hpp"
#include "headway/observer.hpp"
#include "headway/study.hpp"
#include "headway/training/linear_value.hpp"
#include "headway/training/task_adapters.hpp"
#include "headway/training/trainer.hpp"

namespace headway {

/// `headway extract`: the heads that a trained linear-value network has learned, as a data set of
/// the theory, and the network's own outputs on it, path by path. `study` is that of the run, with
/// task.kind = "omniglot"; `parameters` are its weights. Examples 0, 1, ... of every split, as many
/// as study.extract says; the test examples are those of the run's own evaluation.
/// Errors: kBadData when the weights are not those of a linear-value network of this study;
/// kBadStudy when it is of another task or kind of network; kInterrupted. Cost: that of the path
/// features of all examples.
ExtractResult extract(const Study& study, const std::vector<training::NamedTensor>& parameters,
                      const training::OneShotExamples& examples,
                      Observer& observer = no_observer());

/// The same for a transformer. study.extract says which of two forms the data set has: the frozen
/// contributions (training::FrozenNetwork) at one scored token as path features, or the attention
/// matrices with the normed stream that enters the first kept layer. Labels are the targets of that
/// token, one-hot for classes.
/// Splits: train; test is "held_out" where the task has it, else "test"; "validation" is the task's
/// selection split; "in_distribution" is "test" beside "held_out"; others keep their names.
/// Contributions and real labels are centred: their means over the training examples are removed.
/// One factor makes the mean diagonal of the Gaussian process's kernel 1. Errors as above and as
/// FrozenNetwork; kBadStudy for attention whose rows do not sum up to 1. Cost: that of the
/// definitions, about 10 ms an example of fuzzy logic.
ExtractResult extract(const Study& study, const std::vector<training::NamedTensor>& parameters,
                      const training::TrainingTask& task, Observer& observer = no_observer());

/// What extract() would make of a transformer.
struct ExtractSizes {
  std::vector<int> heads;  ///< parts of each level, or heads of each layer
  Index features = 0;
  std::vector<std::pair<std::string, Index>> splits;  ///< with their examples
  double bytes = 0.0;                                 ///< of memory, in double precision
};
/// Errors as of extract(), and kBadStudy where it needs more than the memory of this machine.
ExtractSizes extract_sizes(const Study& study, const std::vector<training::NamedTensor>& parameters,
                           const training::TrainingTask& task);

/// Error{kBadStudy} where the data set needs more than `memory_bytes`. The message names the sizes
/// and the settings that decide them.
void require_memory(const ExtractSizes& sizes, double memory_bytes);

}  // namespace headway
