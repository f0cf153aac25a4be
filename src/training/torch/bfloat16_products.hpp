#pragma once

#include <ATen/autocast_mode.h>
#include <torch/csrc/api/include/torch/version.h>

namespace headway::training::detail {

/// bfloat16 products on CUDA while it lives.
class Bfloat16Products {
 public:
  explicit Bfloat16Products(bool on) : on_(on && !are_on()) {
    if (on_) switch_to(true);
  }
  ~Bfloat16Products() {
    if (!on_) return;
    at::autocast::clear_cache();
    switch_to(false);
  }
  Bfloat16Products(const Bfloat16Products&) = delete;
  Bfloat16Products& operator=(const Bfloat16Products&) = delete;

// From version 2.4 on the words for CUDA alone warn, each time, that there are others.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  static bool are_on() { return at::autocast::is_autocast_enabled(at::kCUDA); }

 private:
  static void switch_to(bool on) {
    if (on) at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCUDA, on);
  }
#else
  static bool are_on() { return at::autocast::is_enabled(); }

 private:
  static void switch_to(bool on) {
    if (on) at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    at::autocast::set_enabled(on);
  }
#endif

  bool on_;
};

}  // namespace headway::training::detail
