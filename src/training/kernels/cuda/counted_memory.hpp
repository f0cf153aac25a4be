#pragma once

#include <cstdint>

#include "headway/types.hpp"
#include "training/kernels/cuda/device.hpp"

namespace headway::training {

/// Counts what a kernel takes of shared memory, by the kernel's own text.
class CountedMemory {
 public:
  template <typename T>
  emulated_kernels::Shared<T> take(const char*, int count) {
    bytes_ += (static_cast<Index>(count) * static_cast<Index>(sizeof(T)) + 15) / 16 * 16;
    return {};
  }
  [[nodiscard]] Index bytes() const { return bytes_; }

 private:
  Index bytes_ = 0;
};

}  // namespace headway::training
