#pragma once

#include <string>
#include <vector>

#include "headway/core/observer.hpp"
#include "headway/studies/study.hpp"
#include "headway/tasks/dataset.hpp"
#include "headway/training/linear_value.hpp"
#include "headway/training/task_adapters.hpp"
#include "headway/training/trainer.hpp"

namespace headway::studies {

/// What the trained network itself does on one split of the extracted data.
struct ExtractedSplit {
  std::string name;  ///< "train", "test", "validation", or that of an out-of-distribution set
  training::TrainedPathOutputs paths;
  double accuracy = 0.0;  ///< share of the examples whose sign is right
  double mean_squared_error = 0.0;
};

struct ExtractResult {
  /// Inputs of train, test and further examples (sets "validation", and those out of distribution)
  /// and the learned queries and keys, for the theory.
  tasks::Dataset dataset;
  training::TrainedLinearValue trained;
  std::vector<ExtractedSplit> splits;  ///< train, test, then as dataset.sets
  MatrixXd order_parameter;            ///< U_1 of the trained weights, p x p
};

/// `headway extract`: the heads that a trained linear-value network has learned, as a data set of
/// the theory, and the network's own outputs on it, path by path. `study` is that of the run, with
/// task.kind = "omniglot"; `parameters` are its weights. Examples 0, 1, ... of every split, as many
/// as study.extract says; the test examples are those of the run's own evaluation.
/// Errors: kBadData when the weights are not those of a linear-value network of this study;
/// kBadStudy when it is of another task or kind of network; kInterrupted. Cost: that of the path
/// features of all examples.
ExtractResult extract(const Study& study, const std::vector<training::NamedTensor>& parameters,
                      const training::OneShotExamples& examples, Observer& observer);

/// Error{kBadStudy} unless a run of this study gives heads to extract.
void check_extractable(const Study& study);

}  // namespace headway::studies
