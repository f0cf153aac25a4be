// The ways in which a run's training steps are made, each an engine: blocks of the CPU, LibTorch's
// operations, the step that is written by hand, and that step for a stack of runs.
#pragma once

#include <memory>
#include <vector>

#include "training/step/stack_meeting.hpp"
#include "training/torch/device_stack.hpp"
#include "training/torch/device_step.hpp"
#include "training/torch/engine.hpp"

namespace headway::training::detail {

/// The fused blocks of the CPU, whose loss and update are the host's.
class HostEngine final : public TorchEngine {
 public:
  explicit HostEngine(const EngineSetup& setup) : TorchEngine(setup) {}
  void step(const StepPieces& data, const AdamWStep& step) override;
  void update(double loss, const AdamWStep& step) override;
  std::vector<StepNumbers> read_steps() override;

 private:
  void update_here(double loss, const AdamWStep& step);

  std::vector<StepNumbers> steps_;
};

/// LibTorch's operations. They keep the loss and make the update where the parameters are.
class LibraryEngine : public TorchEngine {
 public:
  explicit LibraryEngine(const EngineSetup& setup)
      // The host picks the tokens of each expert: not to be recorded.
      : LibraryEngine(setup, setup.model.feed_forward != FeedForward::kMixture) {}
  double compute_gradients(const StepPieces& data) override;
  void step(const StepPieces& data, const AdamWStep& step) override;
  void update(double loss, const AdamWStep& step) override;
  std::vector<StepNumbers> read_steps() override;

 protected:
  LibraryEngine(const EngineSetup& setup, bool recordable);

  /// compute_gradients() and step() of what was placed last.
  double gradients_of_placed();
  void step_of_placed(bool moved, const AdamWStep& step);
  /// What every step launches.
  RepeatedWork& work() { return work_; }

 private:
  void add_gradients_and_loss();

  RepeatedWork work_;
  DeviceUpdate update_;
};

/// The hand-written step, where it serves what is placed; else LibTorch's operations.
class WrittenEngine final : public LibraryEngine {
 public:
  WrittenEngine(const EngineSetup& setup, MakeStepDevice make);
  double compute_gradients(const StepPieces& data) override;
  void step(const StepPieces& data, const AdamWStep& step) override;
  std::vector<StepNumbers> read_steps() override;

 private:
  bool serves_placed(bool moved, const AdamWStep& constants);

  AdamWStep constants_;
  DeviceStep written_;
};

/// A run of a stack, whose steps are made together with those of the others.
class StackedEngine final : public TorchEngine {
 public:
  StackedEngine(const EngineSetup& setup, std::shared_ptr<DeviceStack> stack,
                std::shared_ptr<StackMeeting> meeting, Index run);
  ~StackedEngine() override;
  StackedEngine(const StackedEngine&) = delete;
  StackedEngine& operator=(const StackedEngine&) = delete;
  void step(const StepPieces& data, const AdamWStep& step) override;
  /// Error{kInternal}: runs of a stack have no micro-batches, whose gradients others would sum.
  void update(double loss, const AdamWStep& step) override;
  std::vector<StepNumbers> read_steps() override;

 private:
  std::shared_ptr<DeviceStack> stack_;
  std::shared_ptr<StackMeeting> meeting_;
  Index run_;
};

/// The engine of a run that is in no stack.
std::unique_ptr<TransformerEngine> make_torch_engine(const EngineSetup& setup);

}  // namespace headway::training::detail
