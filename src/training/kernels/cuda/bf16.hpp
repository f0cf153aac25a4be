#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define HEADWAY_NUMBER __host__ __device__ __forceinline__
#else
#define HEADWAY_NUMBER inline
#endif

namespace headway::training {

/// A float's upper half: 8 bits of mantissa, counting the hidden one.
struct Bf16 {
  std::uint16_t bits;
};

HEADWAY_NUMBER std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
HEADWAY_NUMBER float float_of(std::uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

HEADWAY_NUMBER float to_float(float x) { return x; }
HEADWAY_NUMBER float to_float(Bf16 x) {
  return float_of(static_cast<std::uint32_t>(x.bits) << 16U);
}

/// Rounded to nearest, ties to even; a NaN stays one.
HEADWAY_NUMBER Bf16 to_bf16(float x) {
#ifdef __CUDA_ARCH__
  Bf16 rounded;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(x));
  return rounded;
#else
  const std::uint32_t bits = bits_of(x);
  if (x != x) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
#endif
}

/// Two in a word, `low` in its lower half.
HEADWAY_NUMBER std::uint32_t bf16_pair(float low, float high) {
#ifdef __CUDA_ARCH__
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return to_bf16(low).bits | static_cast<std::uint32_t>(to_bf16(high).bits) << 16U;
#endif
}

/// The same of max(x, 0) of both. A NaN stays one.
HEADWAY_NUMBER std::uint32_t positive_pair(float low, float high) {
#ifdef __CUDA_ARCH__
  std::uint32_t pair;
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return bf16_pair(low < 0.0F ? 0.0F : low, high < 0.0F ? 0.0F : high);
#endif
}

/// The 11 bits of mantissa that TF32 keeps (counting the hidden one), ties away from zero.
HEADWAY_NUMBER float to_tf32(float x) {
  if (x != x) return x;
  return float_of((bits_of(x) + 0x1000U) & 0xFFFFE000U);
}

template <typename T>
HEADWAY_NUMBER T from_float(float x);
template <>
HEADWAY_NUMBER float from_float<float>(float x) {
  return x;
}
template <>
HEADWAY_NUMBER Bf16 from_float<Bf16>(float x) {
  return to_bf16(x);
}

}  // namespace headway::training
