// The arrays of a stack of runs on one device, and the hand-written step that works on all of them.
#pragma once

#include <memory>
#include <vector>

#include "training/torch/cuda_stream.hpp"
#include "training/torch/device_step.hpp"

namespace headway::training::detail {

/// Runs have places from 0 on. All work is on one stream. So what one run reads is what the steps
/// before left, and a step sees what every run has put there. Each run may be another thread's;
/// launch() is called while all runs wait.
class DeviceStack {
 public:
  /// Error{kInternal} where FusedStep::obstacle() says something.
  DeviceStack(const EngineSetup& setup, const StackShape& shape, MakeStepDevice make);

  [[nodiscard]] const std::shared_ptr<OwnStream>& stream() const { return stream_; }
  /// Views of a run's parameters, gradients and moments, at step_offsets().
  [[nodiscard]] UpdatedArrays arrays(Index run) const;
  /// Sends the examples and the dropout of a run's next step, and the numbers of its update.
  void prepare(Index run, const StepPieces& data, const AdamWStep& step);
  /// The step of the runs that are ready; the others keep what they have.
  void launch(const std::vector<bool>& ready);
  /// Waits, and tells of a run's updates since the last call.
  std::vector<StepNumbers> read(Index run);

 private:
  struct Place {
    PlacedBatch batch;  // what a run puts where the step finds it
    Index steps = 0;    // that have not been read
  };
  void make_arrays();

  EngineSetup setup_;
  StackShape shape_;
  DeviceMemory memory_;
  std::shared_ptr<OwnStream> stream_;
  RepeatedWork work_;
  // Of all runs: [R, ...].
  UpdatedArrays arrays_;
  PlacedBatch batch_;
  at::Tensor history_, numbers_;
  std::vector<Place> places_;
  std::vector<float> numbers_sent_;
  std::unique_ptr<StepDevice> device_;
  std::unique_ptr<FusedStep> step_;
};

}  // namespace headway::training::detail
