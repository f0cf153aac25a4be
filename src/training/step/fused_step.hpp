// A training step written by hand: forward pass, backward pass and update as one list of launches
// on a device's memory. The same launches on the same memory each time, so a CUDA graph may hold
// them.
//
// The list serves a stack of runs: networks of one shape, each with parameters, examples, dropout,
// losses and an update of its own. StepArrays has their arrays beside each other, the run first. A
// stack has as many launches as one run, and each run has the bits that it would have alone
// (step_operations.hpp). A run whose update_numbers() are kNoUpdate is computed and changes
// nothing, whatever its numbers are: it has ended, or waits.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "training/model/transformer_engine.hpp"
#include "training/step/step_device.hpp"

namespace headway::training::detail {

/// Where each parameter begins in a vector of all of them that this step works on. It differs from
/// the order of the model in one thing: the weights of queries, keys and values of a layer lie
/// beside each other, then their biases. So one product makes all three.
std::vector<Index> step_offsets(const std::vector<ParameterShape>& shapes);
/// From the parameters of a run to those of the next: as many as a run has, rounded up so that all
/// runs lie alike in the device's lines. Else a library might multiply them in different ways.
Index step_parameters(const std::vector<ParameterShape>& shapes);

/// Arrays on the device that others fill or read, R runs. Null: there is none.
struct StepArrays {
  const float* inputs = nullptr;          ///< [R, B, S, F]
  const std::int32_t* ids = nullptr;      ///< [R, B, S]
  const std::uint8_t* mask = nullptr;     ///< [R, B, S]
  const float* targets = nullptr;         ///< [R, B, scored, O]
  const std::int32_t* classes = nullptr;  ///< [R, B, scored]
  const float* dropout = nullptr;         ///< [R, layers, S, S]
  // Of all parameters: [R, step_parameters()], those of a run at step_offsets().
  float* values = nullptr;
  float* gradients = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  const float* numbers = nullptr;  ///< of the update: [R, 4] of StepUpdate
  double* loss = nullptr;          ///< [R]
  double* history = nullptr;       ///< [R, kMostStepsAhead, 2]
};

/// StepUpdate::numbers of an update, whose loss and norm go to `place` of the history.
std::array<float, 4> update_numbers(const AdamWStep& step, Index place);
/// Those of a run that makes no update.
inline constexpr std::array<float, 4> kNoUpdate = {0.0F, 0.0F, 0.0F, -1.0F};

class FusedStep {
 public:
  /// Why this step does not serve such a run, in words; "" where it does.
  static std::string obstacle(const EngineSetup& setup, const StepBatchShape& batch,
                              const GpuDevice& device);

  /// `constants`: betas, epsilon and most_norm of every update. Error{kInternal} where obstacle()
  /// says something.
  FusedStep(const EngineSetup& setup, const StepBatchShape& batch, const StepArrays& arrays,
            const AdamWStep& constants, StepDevice* device);

  /// Of each run: the gradient of its batch, and its mean loss.
  void run_gradients();
  void run_update();

  /// All launches of a step, in order.
  [[nodiscard]] const std::vector<StepLaunch>& launches() const { return launches_; }
  /// Launches, bytes and flops of a step.
  [[nodiscard]] StepCost cost() const;
  /// A line each: name, launches, bytes, flops.
  [[nodiscard]] std::string table() const;

 private:
  StepDevice* device_;
  std::vector<StepLaunch> launches_;  // the last are the sum of all gradients, and the update
};

/// A device without memory, to plan a step on.
class PlannedDevice : public StepDevice {
 public:
  explicit PlannedDevice(const GpuDevice& sizes = {}) : sizes_(sizes) {}
  [[nodiscard]] GpuDevice sizes() const override { return sizes_; }
  void run(const StepOperation& operation) override;

 protected:
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override;

 private:
  GpuDevice sizes_;
  std::uintptr_t next_ = 1 << 12;
};

}  // namespace headway::training::detail
