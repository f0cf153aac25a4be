#include <algorithm>
#include <chrono>
#include <vector>

#include "headway/core/cpu.hpp"
#include "headway/core/parallel.hpp"
#include "headway/training/backend.hpp"

#ifdef HEADWAY_X86_KERNELS
#include <immintrin.h>
#endif

namespace headway::training {
namespace {

#ifdef HEADWAY_X86_KERNELS

constexpr int kSteps = 100000;
constexpr int kRepeats = 8;

// Independent sums, more than latency times throughput; all in registers.
__attribute__((target("avx512f"))) float multiply_add_avx512() {
  constexpr int kChains = 24;
  __m512 sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 a = _mm512_set1_ps(0.999F);
  for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) sum[i] = _mm512_fmadd_ps(sum[i], a, a);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  return _mm512_cvtss_f32(sum[0]);
}

__attribute__((target("avx2,fma"))) float multiply_add_avx2() {
  constexpr int kChains = 12;
  __m256 sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 a = _mm256_set1_ps(0.999F);
  for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sum[i] = _mm256_fmadd_ps(sum[i], a, a);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  return _mm256_cvtss_f32(sum[0]);
}

double best_seconds(float (*work)()) {
  volatile float sink = 0.0F;
  double best = 1e9;
  for (int r = 0; r < kRepeats; ++r) {
    const auto start = std::chrono::steady_clock::now();
    sink = work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  static_cast<void>(sink);
  return best;
}

#endif

}  // namespace

double measure_peak_flops([[maybe_unused]] int threads) {
#ifdef HEADWAY_X86_KERNELS
  if (!has_instruction_set(InstructionSet::kAvx2)) return 0.0;
  const bool wide = has_instruction_set(InstructionSet::kAvx512);
  const double flops = 2.0 * kSteps * (wide ? 16 * 24 : 8 * 12);
  threads = resolve_threads(threads);
  std::vector<double> seconds(static_cast<std::size_t>(threads));
  parallel_for(threads, threads, [&](Index i) {
    seconds[static_cast<std::size_t>(i)] =
        best_seconds(wide ? multiply_add_avx512 : multiply_add_avx2);
  });
  double sum = 0.0;
  for (const double s : seconds) sum += flops / s;
  return sum;
#else
  return 0.0;
#endif
}

}  // namespace headway::training
