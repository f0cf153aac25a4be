#include "training/torch/device_step.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "training/torch/cuda_stream.hpp"
#include "training/torch/library_attention.hpp"
#ifdef HEADWAY_GPU_KERNELS
#include "training/kernels/cuda/gpu_step.hpp"
#endif

namespace headway::training::detail {
namespace {

using at::Tensor;

bool same_constants(const AdamWStep& a, const AdamWStep& b) {
  return a.beta_1 == b.beta_1 && a.beta_2 == b.beta_2 && a.epsilon == b.epsilon &&
         a.most_norm == b.most_norm;
}

}  // namespace

bool hand_written_steps() {
#ifdef HEADWAY_GPU_KERNELS
  const char* chosen = std::getenv("HEADWAY_GPU_STEP");  // NOLINT(concurrency-mt-unsafe): is read
  return chosen == nullptr || std::string_view(chosen) != "torch";
#else
  return false;
#endif
}

MakeStepDevice step_device_of(const EngineSetup& setup) {
  if (setup.make_step_device != nullptr) return setup.make_step_device;
#ifdef HEADWAY_GPU_KERNELS
  if (setup.device == Device::kCuda && !setup.eager && hand_written_steps()) {
    return make_gpu_step_device;
  }
#endif
  return nullptr;
}

StepArrays step_arrays(const PlacedBatch& batch, const UpdatedArrays& on, const Tensor& history,
                       const Tensor& numbers) {
  StepArrays a;
  if (batch.input.x.is_floating_point()) {
    a.inputs = numbers_of<float>(batch.input.x);
  } else {
    a.ids = numbers_of<std::int32_t>(batch.input.x);
  }
  a.mask = numbers_of<std::uint8_t>(batch.input.mask);
  a.targets = numbers_of<float>(batch.targets);
  a.classes = numbers_of<std::int32_t>(batch.classes);
  a.dropout = numbers_of<float>(batch.input.dropout);
  a.values = numbers_of<float>(on.values);
  a.gradients = numbers_of<float>(on.gradients);
  a.first = numbers_of<float>(on.first);
  a.second = numbers_of<float>(on.second);
  a.loss = numbers_of<double>(on.loss);
  a.numbers = numbers_of<float>(numbers);
  a.history = numbers_of<double>(history);
  return a;
}

DeviceStep::DeviceStep(const EngineSetup& setup, const UpdatedArrays& arrays, MakeStepDevice make)
    : setup_(setup), on_(arrays), make_(make), memory_(arrays.values.device(), true) {
  if (make_ == nullptr) return;
  history_ = at::zeros({kMostStepsAhead, 2}, arrays.loss.options());
  numbers_ = at::zeros({4}, arrays.values.options());
}

bool DeviceStep::serves(const PlacedBatch& batch, bool moved, const AdamWStep& constants) {
  if (make_ == nullptr) return false;
  if (!moved && step_ != nullptr && same_constants(constants, constants_)) return true;
  step_.reset();
  device_ = with_library_attention(setup_, make_(current_stream(on_.values.device())));
  const StepBatchShape shape = {batch.input.x.size(0), batch.input.mask.defined(),
                                batch.input.dropout.defined()};
  if (!FusedStep::obstacle(setup_, shape, device_->sizes()).empty()) {
    make_ = nullptr;
    return false;
  }
  constants_ = constants;
  is_new_ = true;
  step_ = std::make_unique<FusedStep>(setup_, shape, step_arrays(batch, on_, history_, numbers_),
                                      constants, device_.get());
  return true;
}

void DeviceStep::prepare(const AdamWStep& step) {
  memory_.put(update_numbers(step, steps_++), {4}, &numbers_);
}

std::vector<StepNumbers> DeviceStep::read() {
  return read_history(history_, std::exchange(steps_, 0));
}

}  // namespace headway::training::detail
