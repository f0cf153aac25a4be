#pragma once

#include <ATen/autocast_mode.h>

namespace headway::training::detail {

/// bfloat16 products on CUDA while it lives.
class Bfloat16Products {
 public:
  explicit Bfloat16Products(bool on) : on_(on && !at::autocast::is_enabled()) {
    if (!on_) return;
    at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    at::autocast::set_enabled(true);
  }
  ~Bfloat16Products() {
    if (!on_) return;
    at::autocast::clear_cache();
    at::autocast::set_enabled(false);
  }
  Bfloat16Products(const Bfloat16Products&) = delete;
  Bfloat16Products& operator=(const Bfloat16Products&) = delete;

  static bool are_on() { return at::autocast::is_enabled(); }

 private:
  bool on_;
};

}  // namespace headway::training::detail
