#pragma once

#include "training/kernels/cuda/bf16.hpp"

// The words of training/kernels/cuda/device.hpp in CUDA.
namespace headway::training::gpu_kernels {

template <typename T>
using Global = T*;
template <typename T>
using Shared = T*;

template <typename T>
__device__ __forceinline__ float get(const T* array, std::int64_t i) {
  return to_float(array[i]);
}
template <typename T>
__device__ __forceinline__ T get_bits(const T* array, std::int64_t i) {
  return array[i];
}
template <typename T>
__device__ __forceinline__ void put(T* array, std::int64_t i, float value) {
  array[i] = from_float<T>(value);
}
template <typename T>
__device__ __forceinline__ void put_bits(T* array, std::int64_t i, T value) {
  array[i] = value;
}
__device__ __forceinline__ void add(float* array, std::int64_t i, float value) {
  array[i] += value;
}

/// Of a stack of runs: the one that the block works for (Grid::runs).
__device__ __forceinline__ int run_of_block() { return static_cast<int>(blockIdx.z); }

/// Elements i and i + 1 in one access, the first in the lower half; may_pair(array) and i even.
__device__ __forceinline__ std::uint32_t get_pair(const Bf16* array, std::int64_t i) {
  return *reinterpret_cast<const std::uint32_t*>(array + i);
}
__device__ __forceinline__ void put_pair(Bf16* array, std::int64_t i, std::uint32_t pair) {
  *reinterpret_cast<std::uint32_t*>(array + i) = pair;
}
__device__ __forceinline__ bool may_pair(const Bf16* array) {
  return reinterpret_cast<std::uintptr_t>(array) % 4 == 0;
}

/// x y + sum, rounded once.
__device__ __forceinline__ float fused(float x, float y, float sum) { return fmaf(x, y, sum); }

class Warp {
 public:
  __device__ __forceinline__ explicit Warp(int thread) : thread_(thread) {}
  __device__ __forceinline__ int index() const { return thread_ / 32; }
  __device__ __forceinline__ int lane() const { return thread_ % 32; }
  template <typename Work>
  __device__ __forceinline__ void lanes(const Work& work) const {
    work(lane());
  }

 private:
  int thread_;
};

/// A variable of each lane of a warp.
template <typename T>
class Lanes {
 public:
  __device__ __forceinline__ T& operator[](int) { return mine_; }
  __device__ __forceinline__ const T& operator[](int) const { return mine_; }

 private:
  T mine_ = {};
};

/// A variable of each lane of each of a block's warps, kept from phase to phase.
template <typename T, int warps>
class WarpLanes {
 public:
  __device__ __forceinline__ Lanes<T>& operator[](const Warp&) { return mine_; }

 private:
  Lanes<T> mine_;
};

/// Eight numbers at once from global to shared memory, without waiting; both places are multiples
/// of eight numbers of arrays that begin at multiples of 16 bytes. The thread's copies up to
/// commit_copies() are a group; after wait_for_copies<n>() all but its last n groups have arrived.
__device__ __forceinline__ void copy8(Bf16* to, std::int64_t i, const Bf16* from, std::int64_t j) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to + i));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(place), "l"(from + j)
               : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
template <int left>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(left) : "memory");
}

/// take(lane, give(lane ^ mask)) for every lane of a warp.
template <typename Give, typename Take>
__device__ __forceinline__ void exchange(const Warp& warp, int mask, const Give& give,
                                         const Take& take) {
  constexpr unsigned kAll = 0xFFFFFFFFU;
  warp.lanes([&](int lane) { take(lane, __shfl_xor_sync(kAll, give(lane), mask)); });
}

/// Bit i: vote(i), of the lanes of a warp.
template <typename Vote>
__device__ __forceinline__ std::uint32_t votes(const Warp& warp, const Vote& vote) {
  return __ballot_sync(0xFFFFFFFFU, vote(warp.lane()));
}
__device__ __forceinline__ int count_bits(std::uint32_t bits) { return __popc(bits); }

class Block {
 public:
  __device__ __forceinline__ int size() const { return static_cast<int>(blockDim.x); }
  /// Counts the blocks of one run after those of the run before.
  __device__ __forceinline__ int x() const {
    return static_cast<int>(blockIdx.z * gridDim.x + blockIdx.x);
  }
  __device__ __forceinline__ int x_of_run() const { return static_cast<int>(blockIdx.x); }
  /// Along x.
  __device__ __forceinline__ int blocks_of_run() const { return static_cast<int>(gridDim.x); }
  __device__ __forceinline__ int y() const { return static_cast<int>(blockIdx.y); }

  template <typename Work>
  __device__ __forceinline__ void threads(const Work& work) const {
    work(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
  template <typename Work>
  __device__ __forceinline__ void warps(const Work& work) const {
    work(Warp(static_cast<int>(threadIdx.x)));
    __syncthreads();
  }

  /// The same, but the compiler takes the thread's number for a new one: nothing that is computed
  /// from it stays in a register from phase to phase.
  template <typename Work>
  __device__ __forceinline__ void threads_afresh(const Work& work) const {
    work(new_number());
    __syncthreads();
  }
  template <typename Work>
  __device__ __forceinline__ void warps_afresh(const Work& work) const {
    work(Warp(new_number()));
    __syncthreads();
  }

 private:
  static __device__ __forceinline__ int new_number() {
    unsigned thread;
    asm volatile("mov.u32 %0, %1;\n" : "=r"(thread) : "r"(threadIdx.x));
    return static_cast<int>(thread);
  }
};

/// Hands out the block's shared memory, in pieces of multiples of 16 bytes.
class SharedMemory {
 public:
  __device__ __forceinline__ explicit SharedMemory(unsigned char* base) : base_(base) {}
  template <typename T>
  __device__ __forceinline__ T* take(const char*, int count) {
    T* piece = reinterpret_cast<T*>(base_ + taken_);
    taken_ += (count * static_cast<int>(sizeof(T)) + 15) / 16 * 16;
    return piece;
  }

 private:
  unsigned char* base_;
  int taken_ = 0;
};

struct Words4 {
  std::uint32_t word[4];
};
struct Words2 {
  std::uint32_t word[2];
};
struct Words1 {
  std::uint32_t word[1];
};
struct Floats4 {
  float value[4];
};

/// Elements i to i + 3 in one access; i is a multiple of 4.
__device__ __forceinline__ Floats4 get4(const float* array, std::int64_t i) {
  const float4 x = *reinterpret_cast<const float4*>(array + i);
  return {x.x, x.y, x.z, x.w};
}
__device__ __forceinline__ Floats4 get4(const Bf16* array, std::int64_t i) {
  const uint2 x = *reinterpret_cast<const uint2*>(array + i);
  return {__uint_as_float(x.x << 16U), __uint_as_float(x.x & 0xFFFF0000U),
          __uint_as_float(x.y << 16U), __uint_as_float(x.y & 0xFFFF0000U)};
}
/// Eight numbers in one access, the first in the lowest half; i is a multiple of 8.
__device__ __forceinline__ void put8(Bf16* array, std::int64_t i, const Words4& eight) {
  *reinterpret_cast<uint4*>(array + i) =
      make_uint4(eight.word[0], eight.word[1], eight.word[2], eight.word[3]);
}
/// Whether elements from multiples of 4 on may be read by get4.
template <typename T>
__device__ __forceinline__ bool may_get4(const T* array) {
  return reinterpret_cast<std::uintptr_t>(array) % (4 * sizeof(T)) == 0;
}
__device__ __forceinline__ void put4(float* array, std::int64_t i, const Floats4& four) {
  *reinterpret_cast<float4*>(array + i) =
      make_float4(four.value[0], four.value[1], four.value[2], four.value[3]);
}

// c += a b on a tensor core, laid over the lanes as PTX says. An instruction must be a literal.
#define HEADWAY_TENSOR_PRODUCT(name, instruction)                                                  \
  __device__ __forceinline__ void name(const Warp&, Lanes<Floats4>& c, const Lanes<Words4>& a,     \
                                       const Lanes<Words2>& b) {                                   \
    const Words4& x = a[0];                                                                        \
    const Words2& y = b[0];                                                                        \
    Floats4& z = c[0];                                                                             \
    asm volatile(instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"            \
                 : "+f"(z.value[0]), "+f"(z.value[1]), "+f"(z.value[2]), "+f"(z.value[3])          \
                 : "r"(x.word[0]), "r"(x.word[1]), "r"(x.word[2]), "r"(x.word[3]), "r"(y.word[0]), \
                   "r"(y.word[1]));                                                                \
  }

/// a 16 x 8, b 8 x 8, of TF32 numbers.
HEADWAY_TENSOR_PRODUCT(multiply_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
/// a 16 x 16, b 16 x 8, of bf16 numbers, two to a word.
HEADWAY_TENSOR_PRODUCT(multiply_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")

#undef HEADWAY_TENSOR_PRODUCT

/// a 16 x 8, b 8 x 8, of bf16 numbers.
__device__ __forceinline__ void multiply_bf16_short(const Warp&, Lanes<Floats4>& c,
                                                    const Lanes<Words2>& a,
                                                    const Lanes<Words1>& b) {
  const Words2& x = a[0];
  Floats4& z = c[0];
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"
      " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};\n"
      : "+f"(z.value[0]), "+f"(z.value[1]), "+f"(z.value[2]), "+f"(z.value[3])
      : "r"(x.word[0]), "r"(x.word[1]), "r"(b[0].word[0]));
}

// Four 8 x 8 matrices from shared memory. An instruction must be a literal.
#define HEADWAY_LOAD_MATRICES(name, instruction)                                                 \
  template <typename Place>                                                                      \
  __device__ __forceinline__ void name(const Warp& warp, const Bf16* array, const Place& place,  \
                                       Lanes<Words4>& out) {                                     \
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(array + place(warp.lane()))); \
    Words4& x = out[0];                                                                          \
    asm volatile(instruction " {%0,%1,%2,%3}, [%4];\n"                                           \
                 : "=r"(x.word[0]), "=r"(x.word[1]), "=r"(x.word[2]), "=r"(x.word[3])            \
                 : "r"(at)                                                                       \
                 : "memory");                                                                    \
  }

/// Row r of matrix j is the eight numbers from place(8 j + r) on, a multiple of eight. Word j of
/// lane 4 g + t: numbers 2 t and 2 t + 1 of row g of matrix j.
HEADWAY_LOAD_MATRICES(load_matrices, "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
/// The same matrices, turned. Word j of lane 4 g + t: numbers g of rows 2 t and 2 t + 1 of matrix
/// j.
HEADWAY_LOAD_MATRICES(load_turned, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")

#undef HEADWAY_LOAD_MATRICES

/// Turns four 8 x 8 matrices in registers: word j of lane 4 g + t has numbers 2 t and 2 t + 1 of
/// row g of matrix j before, numbers g of rows 2 t and 2 t + 1 after.
__device__ __forceinline__ void turn(const Warp&, Lanes<Words4>& matrices) {
#pragma unroll
  for (std::uint32_t& word : matrices[0].word) {
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;\n" : "+r"(word));
  }
}

}  // namespace headway::training::gpu_kernels
