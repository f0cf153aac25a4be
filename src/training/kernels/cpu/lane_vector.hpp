#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

// Vectors of floats for the attention kernels. This header and those that include it are compiled
// once for each instruction set: the source file defines HEADWAY_KERNELS, the namespace of its
// copy, and HEADWAY_LANES, and is compiled with the flags of its set. So that no function of one
// set is ever linked into another, they call nothing from the standard library that might not be
// inlined.
namespace headway::training::HEADWAY_KERNELS {

#define HEADWAY_INLINE inline __attribute__((always_inline))

using Index = std::ptrdiff_t;
constexpr int kLanes = HEADWAY_LANES;

typedef float Vec __attribute__((vector_size(4 * HEADWAY_LANES)));            // NOLINT
typedef std::int32_t VecInt __attribute__((vector_size(4 * HEADWAY_LANES)));  // NOLINT
typedef float LooseVec                                                        // NOLINT
    __attribute__((vector_size(4 * HEADWAY_LANES), aligned(4), may_alias));

HEADWAY_INLINE Vec broadcast(float x) { return x - Vec{}; }
HEADWAY_INLINE Vec load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
HEADWAY_INLINE void store(float* p, Vec x) { *reinterpret_cast<LooseVec*>(p) = x; }
HEADWAY_INLINE Vec select(VecInt mask, Vec yes, Vec no) { return mask ? yes : no; }
// A NaN in the first argument stays.
HEADWAY_INLINE Vec maximum(Vec a, Vec b) { return select(b > a, b, a); }
HEADWAY_INLINE Vec minimum(Vec a, Vec b) { return select(b < a, b, a); }

/// First `count` lanes 1, the others 0.
HEADWAY_INLINE Vec leading_ones(Index count) {
  Vec x;
  for (int l = 0; l < kLanes; ++l) x[l] = l < count ? 1.0F : 0.0F;
  return x;
}

HEADWAY_INLINE Vec square_root(Vec x) {
#if defined(__AVX512F__) && HEADWAY_LANES == 16
  return (Vec)_mm512_maskz_sqrt_ps(0xFFFF, (__m512)x);
#elif defined(__AVX2__) && HEADWAY_LANES == 8
  return (Vec)_mm256_sqrt_ps((__m256)x);
#else
  for (int l = 0; l < kLanes; ++l) x[l] = __builtin_sqrtf(x[l]);
  return x;
#endif
}

/// 1 / x of normal numbers, to about the last bit.
HEADWAY_INLINE Vec reciprocal(Vec x) {
#if defined(__AVX512F__) && HEADWAY_LANES == 16
  // 14 bits, doubled by one step of Newton, in place of a division
  const Vec guess = (Vec)_mm512_rcp14_ps((__m512)x);
  return guess + guess * (1.0F - x * guess);
#else
  return 1.0F / x;
#endif
}

// 2^n e^r with n = round(x / log 2), |r| <= log(2) / 2, and the Taylor series of e^r to r^7
// (truncated below 6e-9). 0 below -87.3, where the result would not be a normal number.
HEADWAY_INLINE Vec exponential(Vec x) {
  const Vec least = broadcast(-87.3F);
  const VecInt tiny = x < least;
  x = minimum(maximum(x, least), broadcast(88.3F));
  const Vec round = broadcast(12582912.0F);  // 1.5 * 2^23
  const Vec n = (x * 1.44269504F + round) - round;
  const Vec r = (x - n * 0.693145752F) - n * 1.42860677e-6F;  // log 2 in two parts
  Vec p = r * (1.0F / 5040) + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const VecInt power = (__builtin_convertvector(n, VecInt) + 127) << 23;
  return select(tiny, Vec{}, p * (Vec)power);
}

// log(2^k m) = k log 2 + 2 (s + s^3 / 3 + ... + s^9 / 9), s = (m - 1) / (m + 1), m in
// [sqrt(1/2), sqrt(2)); truncated below 4e-9. Of positive normal numbers only.
HEADWAY_INLINE Vec logarithm(Vec x) {
  const VecInt above = (VecInt)x - 0x3F3504F3;  // sqrt(1/2)
  const Vec k = __builtin_convertvector(above >> 23, Vec);
  const Vec m = (Vec)((above & 0x007FFFFF) + 0x3F3504F3);
  const Vec s = (m - 1.0F) / (m + 1.0F);
  const Vec z = s * s;
  Vec p = z * (1.0F / 9) + 1.0F / 7;
  p = p * z + 1.0F / 5;
  p = p * z + 1.0F / 3;
  return k * 0.693147181F + 2.0F * (s + s * z * p);
}

// Near 0 the odd polynomial of Cephes' tanhf; else 1 - 2 / (e^(2 x) + 1).
HEADWAY_INLINE Vec hyperbolic_tangent(Vec x) {
  const Vec z = x * x;
  Vec p = z * -5.70498872745e-3F + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const Vec far = 1.0F - 2.0F / (exponential(minimum(2.0F * x, broadcast(80.0F))) + 1.0F);
  return select(z < broadcast(0.625F * 0.625F), x + x * z * p, far);
}

// Lanes l with (l & s) == 0 from a at l + s_low, the others from b at l - s_high.
template <int s, int s_low, int s_high, int... l>
HEADWAY_INLINE Vec exchange(Vec a, Vec b, std::integer_sequence<int, l...> /*lanes*/) {
  return __builtin_shufflevector(a, b, ((l & s) == 0 ? l + s_low : kLanes + l - s_high)...);
}
using AllLanes = std::make_integer_sequence<int, kLanes>;

template <int s>
HEADWAY_INLINE void transpose_stage(Vec* x) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & s) != 0) continue;
    const Vec a = x[i];
    const Vec b = x[i + s];
    x[i] = exchange<s, 0, s>(a, b, AllLanes{});
    x[i + s] = exchange<s, s, 0>(a, b, AllLanes{});
  }
}

/// x[i][l] <-> x[l][i]: blocks of s x s lanes change places, s = 1, 2, 4, ...
HEADWAY_INLINE void transpose(Vec* x) {
  transpose_stage<1>(x);
  transpose_stage<2>(x);
  if constexpr (kLanes > 4) transpose_stage<4>(x);
  if constexpr (kLanes > 8) transpose_stage<8>(x);
}

template <int s>
HEADWAY_INLINE void sum_stage(Vec* x) {
#pragma GCC unroll 16
  for (int i = 0; i < s; ++i) {
    const Vec a = x[i];
    const Vec b = x[i + s];
    x[i] = exchange<s, 0, 0>(a, b, AllLanes{}) + exchange<s, s, s>(a, b, AllLanes{});
  }
}

/// Lane i of the result is the sum of the lanes of x[i]; x is overwritten.
HEADWAY_INLINE Vec sum_lanes(Vec* x) {
  if constexpr (kLanes > 8) sum_stage<8>(x);
  if constexpr (kLanes > 4) sum_stage<4>(x);
  sum_stage<2>(x);
  sum_stage<1>(x);
  return x[0];
}

/// out[i] = sum of the lanes of x[i] for i in [0, count).
inline void sum_lanes_of(const Vec* x, Index count, float* out) {
  Vec rows[kLanes];
  for (; count >= kLanes; count -= kLanes, x += kLanes, out += kLanes) {
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j) rows[j] = x[j];
    store(out, sum_lanes(rows));
  }
  if (count == 0) return;
  for (Index j = 0; j < kLanes; ++j) rows[j] = j < count ? x[j] : Vec{};
  const Vec sums = sum_lanes(rows);
  for (Index j = 0; j < count; ++j) out[j] = sums[j];
}

/// Rows of numbers to lanes: out[i][l] = scale row_l[i], i in [0, length), row l at rows + l
/// stride; lanes from `count` on are 0.
inline void pack(const float* rows, Index stride, Index count, Index length, float scale,
                 Vec* out) {
  Index i = 0;
  Vec block[kLanes];
  for (; i + kLanes <= length; i += kLanes) {
    if (count == kLanes) {
#pragma GCC unroll 16
      for (int l = 0; l < kLanes; ++l) block[l] = load(rows + l * stride + i);
    } else {
      for (Index l = 0; l < kLanes; ++l) block[l] = l < count ? load(rows + l * stride + i) : Vec{};
    }
    transpose(block);
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j) out[i + j] = scale * block[j];
  }
  for (; i < length; ++i) {
    Vec x = {};
    for (Index l = 0; l < count; ++l) x[l] = scale * rows[l * stride + i];
    out[i] = x;
  }
}

/// Lanes to rows: row_l[i] = scale in[i][l] for the first `count` lanes.
inline void unpack(const Vec* in, float scale, Index length, Index count, Index stride,
                   float* rows) {
  Index i = 0;
  Vec block[kLanes];
  for (; i + kLanes <= length; i += kLanes) {
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j) block[j] = scale * in[i + j];
    transpose(block);
    if (count == kLanes) {
#pragma GCC unroll 16
      for (int l = 0; l < kLanes; ++l) store(rows + l * stride + i, block[l]);
    } else {
      for (Index l = 0; l < count; ++l) store(rows + l * stride + i, block[l]);
    }
  }
  for (; i < length; ++i) {
    for (Index l = 0; l < count; ++l) rows[l * stride + i] = scale * in[i][l];
  }
}

}  // namespace headway::training::HEADWAY_KERNELS
