#include "headway/training/backend.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "headway/error.hpp"
#include "headway/training/attention.hpp"
#include "training/model/transformer_engine.hpp"

namespace headway::training {

namespace {

/// Whether CUDA's driver is here: without it LibTorch, half a second to load, finds no device.
bool cuda_driver_found() {
  static const bool found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;  // for good
  return found;
}

}  // namespace

Gpu first_gpu() {
  // The driver's own functions, so that no header of CUDA is needed.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return {};
  using Init = int (*)(unsigned);
  using DeviceAt = int (*)(int*, int);
  using NameOf = int (*)(char*, int, int);
  using VersionOf = int (*)(int*);
  const auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"));
  const auto device_at = reinterpret_cast<DeviceAt>(dlsym(driver, "cuDeviceGet"));
  const auto name_of = reinterpret_cast<NameOf>(dlsym(driver, "cuDeviceGetName"));
  const auto version_of = reinterpret_cast<VersionOf>(dlsym(driver, "cuDriverGetVersion"));
  if (init == nullptr || device_at == nullptr || name_of == nullptr || version_of == nullptr) {
    return {};
  }
  Gpu gpu;
  int device = 0;
  std::array<char, 256> name{};
  if (init(0) != 0 || device_at(&device, 0) != 0 ||
      name_of(name.data(), static_cast<int>(name.size()) - 1, device) != 0) {
    return {};
  }
  gpu.name = name.data();
  if (version_of(&gpu.cuda) != 0) gpu.cuda = 0;
  return gpu;
}

std::string gpu_text(const Gpu& gpu, const std::string& backend, const std::string& precision) {
  std::string text = gpu.name.empty() ? "a GPU of unknown name" : gpu.name;
  if (gpu.cuda > 0) {
    text += fmt::format(", driver of CUDA {}.{}", gpu.cuda / 1000, gpu.cuda % 1000 / 10);
  }
  return fmt::format("{}; {}; precision {}", text, backend, precision);
}

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
