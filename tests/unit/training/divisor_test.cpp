// Divisions without dividing, which kernels of the hand-written step make of their places.
#include "training/kernels/cuda/divisor.hpp"

#include <cstdint>

#include "catch.hpp"

using headway::training::emulated_kernels::Divisor;

TEST_CASE("Divisors known beforehand divide exactly, below and beyond 31 bits") {
  constexpr std::int64_t kBeyond = std::int64_t{1} << 31;
  for (std::int64_t d : {1, 2, 3, 5, 7, 36, 64, 320, 641, 65535, 65537, 2147483646, 2147483647}) {
    const Divisor divisor(d);
    const auto check = [&](std::int64_t n) {
      if (n < 0) return;
      INFO(n << " / " << d);
      CHECK(divisor.quotient(n) == n / d);
      CHECK(divisor.remainder(n) == n % d);
    };
    for (std::int64_t n = 0; n < 100; ++n) check(n);
    for (const std::int64_t multiple :
         {std::int64_t{1}, (kBeyond - 1) / d / 2, (kBeyond - 1) / d}) {
      for (std::int64_t n = multiple * d - 1; n <= multiple * d + 1; ++n) check(n);
    }
    for (std::int64_t n = kBeyond - 2; n < kBeyond + 2; ++n) check(n);
    check(1000 * kBeyond + 17);
  }
}
