// A device that a hand-written training step runs on: an NVIDIA GPU, or one that stands in for it.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "training/step/step_operations.hpp"

namespace headway::training::detail {

class StepDevice {
 public:
  StepDevice() = default;
  StepDevice(const StepDevice&) = delete;
  StepDevice& operator=(const StepDevice&) = delete;
  virtual ~StepDevice() = default;

  /// Sizes that attention is planned for.
  [[nodiscard]] virtual GpuDevice sizes() const = 0;
  /// Runs after all operations before it, and does not wait. `operation` keeps its address and its
  /// contents from its first run on.
  virtual void run(const StepOperation& operation) = 0;
  /// The same, and perhaps beside the operations after it, until the next join().
  virtual void run_aside(const StepOperation& operation) { run(operation); }
  /// Whatever runs from now on runs after all that ran aside.
  virtual void join() {}

  /// Tells of an array of somebody else, whose numbers operations may read. Null: there is none.
  virtual void adopt(const char* /*name*/, const void* /*data*/, Index /*count*/,
                     std::size_t /*size*/) {}
  /// Tells that somebody else has written to the array that `data` lies in.
  virtual void was_written(const void* /*data*/) {}
  /// Bytes of memory that nobody has taken.
  [[nodiscard]] virtual double free_bytes() const {
    return std::numeric_limits<double>::infinity();
  }

  /// An array of `count` numbers, kept until the device goes.
  template <typename T>
  T* array(const char* name, Index count) {
    return static_cast<T*>(allocate(name, count, sizeof(T)));
  }
  /// An array with these numbers.
  template <typename T>
  const T* array(const char* name, const std::vector<T>& numbers) {
    return static_cast<const T*>(
        allocate(name, static_cast<Index>(numbers.size()), sizeof(T), numbers.data()));
  }
  /// `numbers` null: the array holds nothing yet.
  virtual void* allocate(const char* name, Index count, std::size_t size,
                         const void* numbers = nullptr) = 0;
};

}  // namespace headway::training::detail
