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

DeviceStep::DeviceStep(const EngineSetup& setup, const UpdatedArrays& arrays, MakeStepDevice make)
    : setup_(setup), on_(arrays), make_(make), memory_(arrays.values.device(), true) {
  if (make_ == nullptr) return;
  const auto doubles = at::dtype(at::kDouble).device(arrays.values.device());
  loss_ = at::zeros({1}, doubles);
  history_ = at::zeros({kMostStepsAhead, 2}, doubles);
  numbers_ = at::zeros({4}, arrays.values.options());
}

StepArrays DeviceStep::arrays_of(const StepBatch& batch) const {
  StepArrays a;
  if (setup_.format.features > 0) {
    a.inputs = numbers_of<float>(batch.input.x);
  } else {
    a.ids = numbers_of<std::int32_t>(batch.input.x);
  }
  a.mask = numbers_of<std::uint8_t>(batch.input.mask);
  a.targets = numbers_of<float>(batch.targets);
  a.classes = numbers_of<std::int32_t>(batch.classes);
  a.dropout = numbers_of<float>(batch.input.dropout);
  a.values = numbers_of<float>(on_.values);
  a.gradients = numbers_of<float>(on_.gradients);
  a.first = numbers_of<float>(on_.first);
  a.second = numbers_of<float>(on_.second);
  a.numbers = numbers_of<float>(numbers_);
  a.loss = numbers_of<double>(loss_);
  a.history = numbers_of<double>(history_);
  return a;
}

bool DeviceStep::serves(const StepBatch& batch, bool moved, const AdamWStep& constants) {
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
  step_ = std::make_unique<FusedStep>(setup_, shape, arrays_of(batch), constants, device_.get());
  return true;
}

void DeviceStep::prepare(const AdamWStep& step) {
  memory_.put(update_numbers(step, steps_++), {4}, &numbers_);
}

std::vector<StepNumbers> DeviceStep::read() {
  return read_history(history_, std::exchange(steps_, 0));
}

}  // namespace headway::training::detail
