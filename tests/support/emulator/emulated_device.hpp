// What the emulated attention, kernels and step share.
#pragma once

#include <stdexcept>

#include "training/kernels/cuda/attention_launches.hpp"

namespace headway::testing {

namespace emulated = training::emulated_kernels;

/// Launches kernels on the emulator. `runs`: of a stack, each of which has a part of the grid.
struct EmulatedDevice {
  int runs = 1;
  template <typename Kernel>
  void launch(emulated::Grid grid, const Kernel& kernel) {
    if (grid.x % runs != 0) throw std::runtime_error("runs of a stack have parts of a grid");
    grid.x /= runs;
    grid.runs = runs;
    emulated::launch(grid, kernel);
  }
};

/// Calls `work` for the arithmetic, and for the type in which it stores numbers.
template <typename Work>
auto with_arithmetic(training::GpuArithmetic arithmetic, const Work& work) {
  using emulated::Arithmetic;
  switch (arithmetic) {
    case training::GpuArithmetic::kFloat32:
      return work.template operator()<Arithmetic::kFloat32, float>();
    case training::GpuArithmetic::kTf32:
      return work.template operator()<Arithmetic::kTf32, float>();
    case training::GpuArithmetic::kBf16:
      break;
  }
  return work.template operator()<Arithmetic::kBf16, training::Bf16>();
}

}  // namespace headway::testing
