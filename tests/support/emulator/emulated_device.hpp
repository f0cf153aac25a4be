// What the emulated attention, kernels and step share.
#pragma once

#include <stdexcept>

#include "training/kernels/cuda/attention_passes.hpp"

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

}  // namespace headway::testing
