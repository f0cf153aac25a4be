// AdamW in LibTorch's operations, on any device, without reading anything back.
#pragma once

#include <array>

#include "training/model/transformer_engine.hpp"
#include "training/torch/host_memory.hpp"

namespace headway::training::detail {

/// Arrays of all parameters end to end, and the batch's mean loss (double, of no dimension), which
/// the update reads and leaves as it is.
struct UpdatedArrays {
  at::Tensor values, gradients, first, second, loss;
};

/// The first `steps` of a history [kMostStepsAhead, 2].
std::vector<StepNumbers> read_history(const at::Tensor& history, Index steps);

/// prepare() and read() are the host's; run() is what a CUDA graph may record: the same launches on
/// the same memory each time.
class DeviceUpdate {
 public:
  /// `offsets`: of each of setup.shapes in the arrays.
  DeviceUpdate(const EngineSetup& setup, const std::vector<Index>& offsets,
               const UpdatedArrays& arrays);

  /// Sends the numbers of the next update. betas, epsilon and most_norm are those of the first.
  void prepare(const AdamWStep& step);
  void run();
  [[nodiscard]] std::vector<StepNumbers> read();

 private:
  UpdatedArrays on_;
  DeviceMemory memory_;
  std::array<float, 3> sent_{};
  AdamWStep constants_;
  at::Tensor rates_;    // of each parameter, times the step's; undefined: all 1
  at::Tensor decayed_;  // 0 or the parameter's rate
  at::Tensor numbers_;  // of the step: rate / (1 - beta_1^t), 1 / (1 - beta_2^t), rate * decay
  at::Tensor alive_;    // false after numbers that are not finite
  at::Tensor history_;  // [kMostStepsAhead, 2]
  at::Tensor place_;    // of the next update in it
  Index steps_ = 0;
};

}  // namespace headway::training::detail
