#pragma once

#include "training/torch/headers.hpp"

namespace headway::training::detail {

/// Numbers of ours as a tensor of the device of `kept`: on the CPU a view of them; elsewhere they
/// are copied first to memory that the device reads by itself, then to that of `kept`, which stays
/// where it is as long as sizes do not change. Nothing waits; `data` may change after the call,
/// unless it is the CPU.
class DeviceMemory {
 public:
  explicit DeviceMemory(at::Device device) : device_(device) {}
  template <typename T>
  void put(const T* data, at::IntArrayRef sizes, at::Tensor* kept) const {
    constexpr auto kType = c10::CppTypeToScalarType<T>::value;
    const at::Tensor view = at::from_blob(const_cast<T*>(data), sizes, at::dtype(kType));  // NOLINT
    if (device_.is_cpu()) {
      *kept = view;
      return;
    }
    const at::Tensor pinned = at::empty(sizes, at::dtype(kType).pinned_memory(true));
    pinned.copy_(view);
    if (!kept->defined() || kept->sizes() != sizes) {
      *kept = at::empty(sizes, at::dtype(kType).device(device_));
    }
    kept->copy_(pinned, true);
  }
  [[nodiscard]] at::Device device() const { return device_; }

 private:
  at::Device device_;
};

}  // namespace headway::training::detail
