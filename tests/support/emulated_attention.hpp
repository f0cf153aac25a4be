// The fused GPU kernels, run by the emulator: every access to memory is checked.
#pragma once

#include <optional>

#include "attention_problems.hpp"
#include "training/kernels/cuda/attention_plan.hpp"

namespace headway::testing {

/// Settings of the emulated kernels that are not part of the problem.
struct EmulatedSettings {
  training::GpuArithmetic arithmetic = training::GpuArithmetic::kFloat32;
  training::GpuDevice device = {};
  int most_groups = 1 << 30;  ///< of examples, in place of the plan's
  bool bias_gradient = true;  ///< where there is a bias
  /// The gradient of queries in floats, in rows that are longer than it by this: as in a step that
  /// is written by hand. Kernels made for a shape only.
  std::optional<int> row_beyond = {};
  /// Queries of a launch of the backward pass, in place of the plan's. Large kernels.
  std::optional<int> chunk_queries = {};
  /// Dropout drawn in the kernels, in place of the problem's array: seed, index of the stream,
  /// rate.
  struct Drawn {
    std::uint64_t seed, index;
    double rate;
    Index columns, first_row, first_column;
  };
  std::optional<Drawn> drawn = {};
  int runs = 1;  ///< of a stack that has the examples of the problem, each as many of them
};

/// Outputs and gradients of a problem, computed by the kernels that the plan chooses.
AttentionAnswer<float> emulated_answer(const AttentionProblem<float>& p,
                                       const EmulatedSettings& settings = {});

}  // namespace headway::testing
