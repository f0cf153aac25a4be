#include "core/normal_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#ifdef HEADWAY_X86_KERNELS
#include <immintrin.h>
#endif

namespace headway::detail {
namespace {

#define HEADWAY_INLINE inline __attribute__((always_inline))

constexpr std::size_t kBatch = 64;          // pairs at a time: the arrays stay in the first cache
constexpr std::size_t kLanes = kBatch + 8;  // and one block more, when words start inside a block
constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;

// Word j of block i in the low half of w[j][i]; the high half holds rubbish.
struct Words {
  alignas(64) std::uint64_t w[4][kLanes];
};

HEADWAY_INLINE void philox_rounds(std::uint32_t* c, PhiloxKey k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(kMultiplier0) * c[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(kMultiplier1) * c[2];
    c[0] = static_cast<std::uint32_t>(p1 >> 32U) ^ c[1] ^ k[0];
    c[1] = static_cast<std::uint32_t>(p1);
    c[2] = static_cast<std::uint32_t>(p0 >> 32U) ^ c[3] ^ k[1];
    c[3] = static_cast<std::uint32_t>(p0);
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
}

HEADWAY_INLINE std::uint64_t block_number(const NormalStream& stream) {
  return stream.counter[0] | (static_cast<std::uint64_t>(stream.counter[1]) << 32U);
}

// The blocks counter, counter + 1, ... of a batch.
void philox_baseline(const NormalStream& stream, Words* words) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint64_t block = block_number(stream) + i;
    std::uint32_t c[4] = {static_cast<std::uint32_t>(block),
                          static_cast<std::uint32_t>(block >> 32U), stream.counter[2],
                          stream.counter[3]};
    philox_rounds(c, stream.key);
    for (int j = 0; j < 4; ++j) words->w[j][i] = c[j];
  }
}
// (n + 1/2) 2^-52 exactly, n = bits 12..63 of the words (low, high), each in the low half of its
// argument: n is put into the mantissa of a number in [1, 2).
HEADWAY_INLINE double open_uniform(std::uint64_t low, std::uint64_t high) {
  const std::uint64_t n = ((high << 20U) & 0x000FFFFFFFF00000U) | ((low & 0xFFFFFFFFU) >> 12U);
  return std::bit_cast<double>(n | 0x3FF0000000000000U) - (1.0 - 0x1.0p-53);
}

// -2 log(u) for u in [2^-53, 1). u = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1,
// s = f / (2 + f), and log m = f - (f^2/2 - s (f^2/2 + R(s^2))) with the minimax R of fdlibm's
// e_log.c (error of R below 2^-58.45).
HEADWAY_INLINE double minus_two_log(double u) {
  constexpr std::uint64_t kSqrtHalf = 0x3FE6A09E667F3BCDU;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(u);
  const std::uint64_t above = bits - kSqrtHalf;  // its top twelve bits are k
  const double m = std::bit_cast<double>(bits - (above & 0xFFF0000000000000U));
  // k + 1024 in the mantissa of 2^52 + ...
  const std::uint64_t biased = (above + (std::uint64_t{1024} << 52U)) >> 52U;
  const double k = std::bit_cast<double>(biased | 0x4330000000000000U) - (0x1.0p52 + 1024.0);
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;
  const double t1 = w * (3.999999999940941908e-01 +
                         w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double t2 = z * (6.666666666666735130e-01 +
                         w * (2.857142874366239149e-01 +
                              w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half_square = 0.5 * f * f;
  const double log_m_tail =
      half_square - (s * (half_square + (t1 + t2)) + k * 1.90821492927058770002e-10);
  return -2.0 * (k * 6.93147180369123816490e-01 - (log_m_tail - f));
}

struct CosSin {
  double cos, sin;
};

// cos and sin of 2 pi v, v in (0, 1). 4 v = q + f with q whole and |f| <= 1/2, exactly; then the
// polynomials of fdlibm's k_sin.c and k_cos.c at x = pi f / 2, |x| <= pi / 4, and q quarter turns.
HEADWAY_INLINE CosSin cos_sin_turn(double v) {
  constexpr double kRound = 0x1.8p52;
  const double shifted = 4.0 * v + kRound;
  const std::uint64_t q = std::bit_cast<std::uint64_t>(shifted);
  const double x = (4.0 * v - (shifted - kRound)) * 1.57079632679489661923;
  const double z = x * x;
  const double ps = 8.33333333332248946124e-03 +
                    z * (-1.98412698298579493134e-04 +
                         z * (2.75573137070700676789e-06 +
                              z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
  const double sin_x = x + (z * x) * (-1.66666666666666324348e-01 + z * ps);
  const double pc =
      z * (4.16666666666666019037e-02 +
           z * (-1.38888888888741095749e-03 +
                z * (2.48015872894767294178e-05 +
                     z * (-2.75573143513906633035e-07 +
                          z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
  const double half_z = 0.5 * z;
  const double w = 1.0 - half_z;
  const double cos_x = w + (((1.0 - w) - half_z) + z * pc);
  const std::uint64_t swap = std::uint64_t{0} - (q & 1U);
  const std::uint64_t cos_bits = std::bit_cast<std::uint64_t>(cos_x);
  const std::uint64_t sin_bits = std::bit_cast<std::uint64_t>(sin_x);
  const std::uint64_t exchange = (cos_bits ^ sin_bits) & swap;
  const std::uint64_t cos_sign = ((q + 1U) & 2U) << 62U;
  const std::uint64_t sin_sign = (q & 2U) << 62U;
  return {std::bit_cast<double>((cos_bits ^ exchange) ^ cos_sign),
          std::bit_cast<double>((sin_bits ^ exchange) ^ sin_sign)};
}

HEADWAY_INLINE void transform_batch(const Words& words, unsigned skip, double* out) {
  const std::uint64_t* w[4];
  for (unsigned j = 0; j < 4; ++j) w[j] = words.w[(skip + j) % 4] + (skip + j) / 4;
  alignas(64) double radius[kBatch];
  for (std::size_t i = 0; i < kBatch; ++i) {
    radius[i] = std::sqrt(minus_two_log(open_uniform(w[0][i], w[1][i])));
  }
  for (std::size_t i = 0; i < kBatch; ++i) {
    const CosSin turn = cos_sin_turn(open_uniform(w[2][i], w[3][i]));
    out[2 * i] = radius[i] * turn.cos;
    out[2 * i + 1] = radius[i] * turn.sin;
  }
}

HEADWAY_INLINE void fill_batches(NormalStream stream, std::size_t pairs, double* out,
                                 void (*philox_batch)(const NormalStream&, Words*)) {
  Words words;
  alignas(64) double last[2 * kBatch];
  for (std::size_t done = 0; done < pairs; done += kBatch) {
    philox_batch(stream, &words);
    const std::size_t left = pairs - done;
    double* target = left >= kBatch ? out + 2 * done : last;
    transform_batch(words, stream.skip, target);
    if (left < kBatch) std::copy_n(last, 2 * left, out + 2 * done);
    const std::uint32_t low = stream.counter[0];
    stream.counter[0] += static_cast<std::uint32_t>(kBatch);
    if (stream.counter[0] < low) ++stream.counter[1];
  }
}

void fill_baseline(const NormalStream& stream, std::size_t pairs, double* out) {
  fill_batches(stream, pairs, out, philox_baseline);
}

#ifdef HEADWAY_X86_KERNELS
#define HEADWAY_AVX2 __attribute__((target("avx2")))
#if defined(__clang__)  // ignores the whole attribute where it does not know one word of it
#define HEADWAY_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#else
#define HEADWAY_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#endif

// One block in each 64-bit lane. The product instruction reads the low halves only, so the rubbish
// that c1 and c3 leave in the high halves does no harm.
HEADWAY_AVX2 void philox_avx2(const NormalStream& stream, Words* words) {
  for (std::size_t i = 0; i < kLanes; i += 4) {
    __m256i c0 =
        _mm256_add_epi64(_mm256_set1_epi64x(static_cast<std::int64_t>(block_number(stream) + i)),
                         _mm256_set_epi64x(3, 2, 1, 0));
    __m256i c1 = _mm256_srli_epi64(c0, 32);
    __m256i c2 = _mm256_set1_epi64x(stream.counter[2]);
    __m256i c3 = _mm256_set1_epi64x(stream.counter[3]);
    PhiloxKey k = stream.key;
    for (int round = 0; round < 10; ++round) {
      const __m256i p0 = _mm256_mul_epu32(c0, _mm256_set1_epi64x(kMultiplier0));
      const __m256i p1 = _mm256_mul_epu32(c2, _mm256_set1_epi64x(kMultiplier1));
      c0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1),
                            _mm256_set1_epi64x(k[0]));
      c2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3),
                            _mm256_set1_epi64x(k[1]));
      c1 = p1;
      c3 = p0;
      k[0] += kWeyl0;
      k[1] += kWeyl1;
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(&words->w[0][i]), c0);
    _mm256_store_si256(reinterpret_cast<__m256i*>(&words->w[1][i]), c1);
    _mm256_store_si256(reinterpret_cast<__m256i*>(&words->w[2][i]), c2);
    _mm256_store_si256(reinterpret_cast<__m256i*>(&words->w[3][i]), c3);
  }
}

HEADWAY_AVX512 void philox_avx512(const NormalStream& stream, Words* words) {
  constexpr __mmask8 kAll = 0xFF;  // the unmasked intrinsics of g++ 12 warn about their own code
  for (std::size_t i = 0; i < kLanes; i += 8) {
    __m512i c0 =
        _mm512_add_epi64(_mm512_set1_epi64(static_cast<std::int64_t>(block_number(stream) + i)),
                         _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    __m512i c1 = _mm512_maskz_srli_epi64(kAll, c0, 32);
    __m512i c2 = _mm512_set1_epi64(stream.counter[2]);
    __m512i c3 = _mm512_set1_epi64(stream.counter[3]);
    PhiloxKey k = stream.key;
    for (int round = 0; round < 10; ++round) {
      const __m512i p0 = _mm512_maskz_mul_epu32(kAll, c0, _mm512_set1_epi64(kMultiplier0));
      const __m512i p1 = _mm512_maskz_mul_epu32(kAll, c2, _mm512_set1_epi64(kMultiplier1));
      c0 = _mm512_xor_si512(_mm512_xor_si512(_mm512_maskz_srli_epi64(kAll, p1, 32), c1),
                            _mm512_set1_epi64(k[0]));
      c2 = _mm512_xor_si512(_mm512_xor_si512(_mm512_maskz_srli_epi64(kAll, p0, 32), c3),
                            _mm512_set1_epi64(k[1]));
      c1 = p1;
      c3 = p0;
      k[0] += kWeyl0;
      k[1] += kWeyl1;
    }
    _mm512_store_si512(&words->w[0][i], c0);
    _mm512_store_si512(&words->w[1][i], c1);
    _mm512_store_si512(&words->w[2][i], c2);
    _mm512_store_si512(&words->w[3][i], c3);
  }
}

HEADWAY_AVX2 void fill_avx2(const NormalStream& stream, std::size_t pairs, double* out) {
  fill_batches(stream, pairs, out, philox_avx2);
}

HEADWAY_AVX512 void fill_avx512(const NormalStream& stream, std::size_t pairs, double* out) {
  fill_batches(stream, pairs, out, philox_avx512);
}
#endif

}  // namespace

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  philox_rounds(counter.data(), key);
  return counter;
}

std::array<double, 2> normal_pair(const PhiloxCounter& words) {
  const double radius = std::sqrt(minus_two_log(open_uniform(words[0], words[1])));
  const CosSin turn = cos_sin_turn(open_uniform(words[2], words[3]));
  return {radius * turn.cos, radius * turn.sin};
}

void fill_normal_pairs(const NormalStream& stream, std::size_t pairs, double* out,
                       InstructionSet set) {
#ifdef HEADWAY_X86_KERNELS
  if (set == InstructionSet::kAvx512) return fill_avx512(stream, pairs, out);
  if (set == InstructionSet::kAvx2) return fill_avx2(stream, pairs, out);
#endif
  static_cast<void>(set);
  fill_baseline(stream, pairs, out);
}

}  // namespace headway::detail
