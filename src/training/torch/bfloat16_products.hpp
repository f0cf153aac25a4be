#pragma once

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/api/include/torch/version.h>

#include "headway/training/train_options.hpp"

namespace headway::training::detail {

/// Whether LibTorch rounds the operands of float32 products on a GPU to TF32. It has one such
/// setting a process, so groups_of_precision() keeps runs of different precision from training side
/// by side.
inline void choose_float32_products(Precision precision, at::DeviceType device) {
  if (device != at::kCUDA) return;
  at::globalContext().setAllowTF32CuBLAS(precision == Precision::kTf32);
}

/// bfloat16 products of LibTorch's operations on a device while it lives.
class Bfloat16Products {
 public:
  Bfloat16Products(bool on, at::DeviceType device) : device_(device), on_(on && !are_on(device)) {
    if (on_) switch_to(true);
  }
  ~Bfloat16Products() {
    if (!on_) return;
    at::autocast::clear_cache();
    switch_to(false);
  }
  Bfloat16Products(const Bfloat16Products&) = delete;
  Bfloat16Products& operator=(const Bfloat16Products&) = delete;

// From version 2.4 on, the functions for a single device are deprecated and warn at each call.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  static bool are_on(at::DeviceType device) { return at::autocast::is_autocast_enabled(device); }

 private:
  void switch_to(bool on) const {
    if (on) at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, on);
  }
#else
  static bool are_on(at::DeviceType device) {
    return device == at::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
  }

 private:
  void switch_to(bool on) const {
    if (device_ == at::kCPU) {
      if (on) at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
      at::autocast::set_cpu_enabled(on);
    } else {
      if (on) at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
      at::autocast::set_enabled(on);
    }
  }
#endif

  at::DeviceType device_;
  bool on_;
};

/// Products of LibTorch's operations in this precision while it lives.
struct ProductsIn {
  ProductsIn(Precision precision, at::DeviceType device)
      : bfloat16(precision == Precision::kBfloat16, device) {
    choose_float32_products(precision, device);
  }

  Bfloat16Products bfloat16;
};

}  // namespace headway::training::detail
