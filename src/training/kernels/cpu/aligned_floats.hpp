#pragma once
#include <cstddef>
#include <memory>
#include <new>

#include "headway/types.hpp"

// Memory of the kernels: floats from the beginning of a cache line on, which is a whole vector of
// every instruction set.
namespace headway::training::detail {

inline constexpr std::size_t kAlignment = 64;  // bytes

struct AlignedDelete {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }
};
using AlignedFloats = std::unique_ptr<float[], AlignedDelete>;

/// `count` floats whose values are not set.
inline AlignedFloats allocate_aligned(Index count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  return AlignedFloats(static_cast<float*>(::operator new[](bytes, std::align_val_t{kAlignment})));
}

/// Memory that is kept between calls and only grows, as fresh pages would cost as much as a small
/// layer.
class AlignedBuffer {
 public:
  /// At least `floats` floats; what was there before is lost when it grows.
  float* reserve(Index floats) {
    if (size_ < floats) {
      data_.reset();
      size_ = 0;
      data_ = allocate_aligned(floats);
      size_ = floats;
    }
    return data_.get();
  }

 private:
  AlignedFloats data_;
  Index size_ = 0;
};

}  // namespace headway::training::detail
