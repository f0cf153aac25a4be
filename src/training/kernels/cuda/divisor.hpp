#pragma once

#include "training/kernels/cuda/device.hpp"

namespace headway::training::HEADWAY_GPU {

/// A divisor that the host knows. For n below 2^31, with 2^(s - 1) < d <= 2^s,
///   n / d = (n + n m / 2^32) / 2^s,   m = 2^32 (2^s - d) / d + 1,
/// rounded down throughout: a multiplication and a shift, where a GPU takes a hundred instructions
/// to divide 64 bits. (T. Granlund, P. L. Montgomery, Division by Invariant Integers using
/// Multiplication, 1994, figure 4.1.)
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(std::int64_t divisor) : divisor_(divisor) {
    while ((std::int64_t{1} << shift_) < divisor) ++shift_;
    const std::uint64_t more = (std::uint64_t{1} << shift_) - static_cast<std::uint64_t>(divisor);
    factor_ = static_cast<std::uint32_t>((more << 32U) / static_cast<std::uint64_t>(divisor) + 1U);
  }

  /// Of one that is not negative.
  HEADWAY_DEVICE std::int64_t quotient(std::int64_t n) const {
    if (n >> 31 != 0) return n / divisor_;
    const auto low = static_cast<std::uint32_t>(n);
    const auto part = static_cast<std::uint32_t>((std::uint64_t{low} * factor_) >> 32U);
    return (low + part) >> shift_;
  }
  HEADWAY_DEVICE std::int64_t remainder(std::int64_t n) const { return n - quotient(n) * divisor_; }

 private:
  std::int64_t divisor_ = 1;
  std::uint32_t factor_ = 1;
  std::uint32_t shift_ = 0;
};

}  // namespace headway::training::HEADWAY_GPU
