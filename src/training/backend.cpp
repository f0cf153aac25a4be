#include "headway/training/backend.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "headway/core/error.hpp"
#include "headway/training/attention.hpp"
#include "training/transformer_engine.hpp"

namespace headway::training {

namespace {

/// Whether CUDA's driver is here: without it LibTorch, half a second to load, finds no device.
bool cuda_driver_found() {
  static const bool found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;  // for good
  return found;
}

}  // namespace

bool training_available() { return training_obstacle().empty(); }

std::string training_obstacle() {
  try {
    static_cast<void>(detail::torch_library());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

bool cuda_available() {
  return cuda_driver_found() && training_available() && detail::torch_library().cuda_available();
}

Device resolve_device(Device wanted) {
  if (wanted == Device::kCpu) return Device::kCpu;
  if (wanted == Device::kAuto && !cuda_driver_found()) return Device::kCpu;
  const bool found = detail::torch_library().cuda_available();
  if (wanted == Device::kCuda && !found) {
    throw Error(ErrorKind::kUnavailable,
                "train.device = \"cuda\": must be \"cpu\" or \"auto\" here: LibTorch finds no CUDA "
                "device, or was built without CUDA");
  }
  return found ? Device::kCuda : Device::kCpu;
}

void require_training_space(int threads) {
  constexpr double kThread = 128.0 * 1024.0 * 1024.0;  // stack, memory pool, oneDNN's buffers
  detail::require_address_space(threads * kThread, fmt::format("{} threads take", threads));
}

std::string training_backend() {
  return fmt::format("{}; attention kernels {}", detail::torch_library().describe(),
                     attention_instruction_set());
}

}  // namespace headway::training
