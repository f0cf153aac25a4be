// The one C function of the library of LibTorch, and what it hands out.
#include <fmt/format.h>
#include <torch/csrc/api/include/torch/cuda.h>
#include <torch/csrc/api/include/torch/version.h>

#include "training/step/step_memory.hpp"
#include "training/torch/device_attention.hpp"
#include "training/torch/engine_ways.hpp"
#include "training/torch/library_attention.hpp"
#include "training/torch/matrix_product.hpp"

namespace headway::training::detail {
namespace {

/// Without the use of attention that this LibTorch does not have.
EngineSetup with_what_there_is(EngineSetup setup) {
  if (!has_library_attention(setup.device == Device::kCuda ? at::kCUDA : at::kCPU)) {
    setup.library_attention = LibraryAttentionUse::kNever;
  }
  return setup;
}

std::unique_ptr<TransformerEngine> make_engine(const EngineSetup& setup) {
  if (!setup.eager) keep_freed_memory();  // LibTorch's own operations run as LibTorch comes
  return guarded(1, [&] {
#if TORCH_VERSION_MAJOR >= 2  // 1.13 has no such setting
    at::globalContext().setAllowBF16ReductionCuBLAS(false);
#endif
    return make_torch_engine(with_what_there_is(setup));
  });
}

class TorchStack final : public EngineStack {
 public:
  TorchStack(const EngineSetup& setup, const StackShape& shape, MakeStepDevice make)
      : setup_(setup),
        meeting_(shape.meeting),
        stack_(std::make_shared<DeviceStack>(setup, shape, make)) {}
  std::unique_ptr<TransformerEngine> engine(Index place) override {
    return guarded(
        1, [&] { return std::make_unique<StackedEngine>(setup_, stack_, meeting_, place); });
  }

 private:
  EngineSetup setup_;
  std::shared_ptr<StackMeeting> meeting_;
  std::shared_ptr<DeviceStack> stack_;
};

std::unique_ptr<EngineStack> make_stack(const EngineSetup& wanted, const StackShape& shape) {
  const EngineSetup setup = with_what_there_is(wanted);
  const MakeStepDevice make = step_device_of(setup);
  if (make == nullptr) return nullptr;
  return guarded(1, [&]() -> std::unique_ptr<EngineStack> {
    const GpuDevice sizes = make(nullptr)->sizes();
    if (!FusedStep::obstacle(setup, shape.batch, sizes).empty()) return nullptr;
    return std::make_unique<TorchStack>(setup, shape, make);
  });
}

Index fitting_runs(const EngineSetup& wanted, const StackShape& shape) {
  const EngineSetup setup = with_what_there_is(wanted);
  const MakeStepDevice make = step_device_of(setup);
  if (make == nullptr) return 0;
  return guarded(1, [&]() -> Index {
    // What LibTorch keeps of arrays that are gone is no use to a step, which takes its own.
    release_kept_memory();
    const std::unique_ptr<StepDevice> device = make(nullptr);
    const GpuDevice sizes = device->sizes();
    if (!FusedStep::obstacle(setup, shape.batch, sizes).empty()) return 0;
    return runs_that_fit(setup, shape, sizes, device->free_bytes());
  });
}

bool cuda_found() { return at::hasCUDA() && torch::cuda::is_available(); }

std::string describe() {
#ifdef HEADWAY_TORCH_CUDA
  const bool built_with_it = true;  // at::hasCUDA() of newer ones asks for a device
#else
  const bool built_with_it = at::hasCUDA();
#endif
  std::string cuda = "without CUDA";
  if (built_with_it) {
    const auto devices = torch::cuda::device_count();
    cuda = devices == 0
               ? "with CUDA but no device"
               : fmt::format("with CUDA, devices: {}, attention by {}{}", devices,
                             built_gpu_kernels() != nullptr ? "fused kernels" : "its operations",
                             hand_written_steps() ? ", steps written by hand" : "");
  }
  return fmt::format("LibTorch {} {}, matrix products by {}", TORCH_VERSION, cuda,
                     matrix_product_name());
}

}  // namespace
}  // namespace headway::training::detail

extern "C" __attribute__((visibility("default"))) const headway::training::detail::TorchLibrary*
headway_torch_library(int interface) {
  using namespace headway::training::detail;  // NOLINT
  static const TorchLibrary library = {make_engine, make_stack, fitting_runs,  hand_written_steps,
                                       cuda_found,  describe,   matrix_product};
  return interface == kTorchInterface ? &library : nullptr;
}
