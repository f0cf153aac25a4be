#include "training/step/step_memory.hpp"

#include <algorithm>
#include <cmath>

namespace headway::training::detail {
namespace {

class CountedDevice final : public PlannedDevice {
 public:
  using PlannedDevice::PlannedDevice;
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override {
    bytes_ += static_cast<double>(count) * static_cast<double>(size);
    return PlannedDevice::allocate(name, count, size, numbers);
  }
  [[nodiscard]] double bytes() const { return bytes_; }

 private:
  double bytes_ = 0.0;
};

// The arrays that a stack has for its step (torch/device_stack.cpp).
StepArrays arrays_of_stack(const EngineSetup& setup, const StepBatchShape& batch,
                           StepDevice* device) {
  const TaskFormat& format = setup.format;
  const Index rows = batch.runs * batch.examples * format.tokens;
  const Index wanted = batch.runs * batch.examples * format.scored;
  const Index parameters = batch.runs * step_parameters(setup.shapes);
  StepArrays a;
  if (format.features > 0) {
    a.inputs = device->array<float>("inputs", rows * format.features);
  } else {
    a.ids = device->array<std::int32_t>("ids", rows);
  }
  if (batch.masked) a.mask = device->array<std::uint8_t>("mask", rows);
  if (format.loss == LossKind::kCrossEntropy) {
    a.classes = device->array<std::int32_t>("classes", wanted);
  } else {
    a.targets = device->array<float>("targets", wanted * format.outputs);
  }
  if (batch.dropout) {
    a.dropout = device->array<float>(
        "dropout", batch.runs * setup.model.all_layers() * format.tokens * format.tokens);
  }
  a.values = device->array<float>("values", parameters);
  a.gradients = device->array<float>("gradients", parameters);
  a.first = device->array<float>("first moments", parameters);
  a.second = device->array<float>("second moments", parameters);
  a.numbers = device->array<float>("numbers", batch.runs * static_cast<Index>(kNoUpdate.size()));
  a.loss = device->array<double>("loss", batch.runs);
  a.history = device->array<double>("history", batch.runs * kMostStepsAhead * 2);
  return a;
}

}  // namespace

double step_bytes(const EngineSetup& setup, const StepBatchShape& batch, const GpuDevice& device) {
  CountedDevice counted(device);
  const StepArrays arrays = arrays_of_stack(setup, batch, &counted);
  const FusedStep step(setup, batch, arrays, {}, &counted);
  return counted.bytes();
}

Index runs_that_fit(const EngineSetup& setup, const StackShape& shape, const GpuDevice& device,
                    double free_bytes) {
  constexpr double kShare = 0.9;
  StepBatchShape batch = shape.batch;
  batch.runs = 1;
  const double one = step_bytes(setup, batch, device);
  batch.runs = 2;
  const double a_run = step_bytes(setup, batch, device) - one;
  const double evaluation =
      std::max(1.0, static_cast<double>(shape.evaluated) / static_cast<double>(batch.examples));
  const double shared = one - a_run;  // by all runs
  const double most = std::floor((kShare * free_bytes - shared) / (a_run * (1.0 + evaluation)));
  return static_cast<Index>(std::clamp(most, 1.0, static_cast<double>(shape.batch.runs)));
}

}  // namespace headway::training::detail
