#pragma once

#include <malloc.h>

#include <span>

#include "training/torch/headers.hpp"

namespace headway::training::detail {

/// Every step frees and takes the same arrays: glibc should keep them, and not give them back to
/// the kernel and clear their pages again, which was a fifth of a step.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargestKept = 32 << 20;  // glibc's own upper bound
  constexpr int kKept = 2000 << 20;
  static_cast<void>(mallopt(M_MMAP_THRESHOLD, kLargestKept));
  static_cast<void>(mallopt(M_TRIM_THRESHOLD, kKept));
#endif
}

/// Where the numbers of an array are; null for one that is undefined.
template <typename T>
T* numbers_of(const at::Tensor& x) {
  return x.defined() ? static_cast<T*>(x.data_ptr()) : nullptr;
}

/// How numbers of ours get to a device.
class DeviceMemory {
 public:
  /// `copies` on the CPU: as if it were another device.
  explicit DeviceMemory(at::Device device, bool copies = false)
      : device_(device), views_(device.is_cpu() && !copies) {}

  /// Puts `data` into `kept`, which becomes undefined if there are none. On the CPU `kept` becomes
  /// a view of `data`. Elsewhere they are copied twice: to memory that the device reads by itself,
  /// then to that of `kept`. So nothing waits, and `data` may change after the call. `kept` stays
  /// in place while its sizes are the same. Returns whether it has moved.
  template <typename Numbers>
  bool put(const Numbers& data, at::IntArrayRef sizes, at::Tensor* kept) const {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(data.data())>>;
    constexpr auto kType = c10::CppTypeToScalarType<T>::value;
    if (data.empty()) {
      const bool moved = kept->defined();
      *kept = at::Tensor();
      return moved;
    }
    const at::Tensor view =
        at::from_blob(const_cast<T*>(data.data()), sizes, at::dtype(kType));  // NOLINT
    if (views_) {
      *kept = view;
      return true;
    }
    at::Tensor sent = view;
    if (!device_.is_cpu()) {
      sent = at::empty(sizes, at::dtype(kType).pinned_memory(true));
      sent.copy_(view);
    }
    const bool moved = !kept->defined() || kept->sizes() != sizes;
    if (moved) *kept = at::empty(sizes, at::dtype(kType).device(device_));
    kept->copy_(sent, true);
    return moved;
  }
  [[nodiscard]] at::Device device() const { return device_; }

 private:
  at::Device device_;
  bool views_;
};

}  // namespace headway::training::detail
