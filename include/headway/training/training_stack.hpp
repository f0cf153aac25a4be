#pragma once

#include <memory>

#include "headway/training/train_options.hpp"
#include "headway/training/training_task.hpp"
#include "headway/training/transformer_options.hpp"

namespace headway::training {

/// Whether runs on a GPU are trained in stacks: this build has the step that is written by hand,
/// and the environment asks for it (src/training/README.md).
bool stacks_runs();

/// Whether two runs may be in one stack: they differ in nothing but seed, weight decay and the
/// learning rate with its schedule, and no step is cut into parts. Their tasks must have one
/// format, too. A run that no stack serves does not even fit itself.
bool fit_one_stack(const TransformerOptions& model, const TrainOptions& options,
                   const TransformerOptions& other_model, const TrainOptions& other_options);

/// How many of `runs` runs that fit one stack fit the memory that the GPU has free, from 1 to
/// `runs`: their parameters, gradients, moments and activations, and an evaluation of each. Memory
/// that LibTorch keeps for later is given back first, so no run should be at work.
Index runs_that_fit_one_stack(const TransformerOptions& model, const TrainOptions& options,
                              const TaskFormat& format, Index runs);

/// Networks of one shape that are trained side by side: each step on a GPU is one step of all. So
/// small networks, which are bound by launches, cost little more than one. Every run is trained by
/// a Trainer of its own in a thread of its own, as if it were alone. It has the same bits whatever
/// it is stacked with, and ends, evaluates and fails for itself. A run waits for the others of its
/// stack: all that entered and did not leave.
class TrainingStack {
 public:
  /// Room for so many runs, which have places from 0 on.
  explicit TrainingStack(Index runs);
  ~TrainingStack();
  TrainingStack(const TrainingStack&) = delete;
  TrainingStack& operator=(const TrainingStack&) = delete;

  /// The others wait for this run from now on. Waits for all to enter, two seconds at most, so that
  /// all begin together.
  void enter(Index place);
  /// They wait no more. A run that does not train leaves, too.
  void leave(Index place);

  class Implementation;
  /// For tests: runs on a device that is not a GPU.
  explicit TrainingStack(std::unique_ptr<Implementation> implementation);

 private:
  friend class Trainer;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace headway::training
