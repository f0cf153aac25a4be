// The hand-written training step (training/step) on LibTorch's arrays, in place of its operations.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "training/step/fused_step.hpp"
#include "training/torch/device_update.hpp"
#include "training/torch/network_model.hpp"

namespace headway::training::detail {

/// Makes the device of a run's step: what EngineSetup has, or an NVIDIA GPU where the environment
/// has no HEADWAY_GPU_STEP = torch. Null: LibTorch's operations make the step.
MakeStepDevice step_device_of(const EngineSetup& setup);

/// Whether the environment asks for the hand-written step, and this build has it.
bool hand_written_steps();

/// Where a hand-written step finds its arrays. `history` and `numbers` are StepArrays'.
StepArrays step_arrays(const PlacedBatch& batch, const UpdatedArrays& on, const at::Tensor& history,
                       const at::Tensor& numbers);

class DeviceStep {
 public:
  /// `arrays` are at step_offsets(). `make` null: nothing is served.
  DeviceStep(const EngineSetup& setup, const UpdatedArrays& arrays, MakeStepDevice make);

  /// Whether the step serves this batch. It is planned anew where `moved` says that the batch's
  /// memory has moved, or where constants differ from those before.
  bool serves(const PlacedBatch& batch, bool moved, const AdamWStep& constants);
  /// Whether it was planned anew since the last call.
  bool is_new() { return std::exchange(is_new_, false); }
  /// The gradient, and the loss.
  void run_gradients() { step_->run_gradients(); }
  /// Sends the numbers of the next update.
  void prepare(const AdamWStep& step);
  void run_update() { step_->run_update(); }
  /// Updates that have not been read.
  [[nodiscard]] Index steps() const { return steps_; }
  std::vector<StepNumbers> read();

 private:
  const EngineSetup& setup_;
  UpdatedArrays on_;
  MakeStepDevice make_;
  DeviceMemory memory_;
  at::Tensor history_, numbers_;
  AdamWStep constants_;
  Index steps_ = 0;
  bool is_new_ = false;
  std::unique_ptr<StepDevice> device_;
  std::unique_ptr<FusedStep> step_;
};

}  // namespace headway::training::detail
