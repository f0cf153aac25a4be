#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

// What a kernel of this folder is written in. The text of a kernel is phases over the threads (or
// warps) of a block with a barrier after each. nvcc compiles it to CUDA; the host's compiler makes
// an emulation of it, which runs block by block and thread by thread and checks every access
// (training/kernels/cuda/emulator.hpp). Memory is read and written through get, put and add alone,
// and what one thread writes another may read in a later phase only.
#ifdef __CUDACC__
#define HEADWAY_GPU gpu_kernels
#define HEADWAY_DEVICE __device__ __forceinline__
#define HEADWAY_BOTH __host__ __device__ __forceinline__
#define HEADWAY_UNROLL _Pragma("unroll")
#include "training/kernels/cuda/cuda_device.hpp"
#else
#define HEADWAY_GPU emulated_kernels
#define HEADWAY_DEVICE inline
#define HEADWAY_BOTH inline
#define HEADWAY_UNROLL
#include "training/kernels/cuda/emulator_matrices.hpp"
#endif

namespace headway::training::HEADWAY_GPU {

/// An array of each run of a stack. get and put reach that of the block's run. A pointer is an
/// array that all runs share.
template <typename T>
struct ArrayOfRuns {
  Global<T> data = {};
  std::int64_t step = 0;  ///< from a run to the next

  ArrayOfRuns() = default;
  HEADWAY_BOTH ArrayOfRuns(Global<T> shared) : data(shared) {}  // NOLINT: as said
  HEADWAY_BOTH ArrayOfRuns(Global<T> first, std::int64_t step_between)
      : data(first), step(step_between) {}
  HEADWAY_DEVICE Global<T> mine() const { return data + run_of_block() * step; }
  HEADWAY_DEVICE bool operator==(std::nullptr_t) const { return data == nullptr; }
  friend HEADWAY_DEVICE Global<T> operator+(const ArrayOfRuns& array, std::int64_t n) {
    return array.mine() + n;
  }
};
template <typename T>
HEADWAY_DEVICE float get(const ArrayOfRuns<T>& array, std::int64_t i) {
  return get(array.mine(), i);
}
template <typename T>
HEADWAY_DEVICE std::remove_const_t<T> get_bits(const ArrayOfRuns<T>& array, std::int64_t i) {
  return get_bits(array.mine(), i);
}
template <typename T>
HEADWAY_DEVICE void put(const ArrayOfRuns<T>& array, std::int64_t i, float value) {
  put(array.mine(), i, value);
}
template <typename T>
HEADWAY_DEVICE void put_bits(const ArrayOfRuns<T>& array, std::int64_t i, T value) {
  put_bits(array.mine(), i, value);
}

/// Of a block of this kernel.
template <typename Kernel>
constexpr int most_threads_of() {
  constexpr int kThreads = 256;
  if constexpr (requires { Kernel::kMostThreads; }) return Kernel::kMostThreads;
  return kThreads;
}

/// A multiprocessor has room for so many blocks of this kernel. It limits the registers of a
/// thread.
template <typename Kernel>
constexpr int fewest_blocks_of() {
  constexpr int kTwo = 2;
  if constexpr (requires { Kernel::kFewestBlocks; }) return Kernel::kFewestBlocks;
  return kTwo;
}

HEADWAY_BOTH constexpr int ceiling(int a, int b) { return (a + b - 1) / b; }

/// Work items 0 .. count - 1 over the threads of a block; a barrier after.
template <typename Work>
HEADWAY_DEVICE void for_each(Block& block, int count, const Work& work) {
  block.threads([&](int thread) {
    for (int i = thread; i < count; i += block.size()) work(i);
  });
}

/// Every element (row, column) of a matrix over the threads of a block, neighbours in a row to
/// neighbouring threads; a barrier after. One division a thread, where it starts.
template <typename Work>
HEADWAY_DEVICE void for_each(Block& block, int rows, int columns, const Work& work) {
  const int row_step = block.size() / columns;
  const int column_step = block.size() % columns;
  block.threads([&](int thread) {
    int column = thread % columns;
    for (int row = thread / columns; row < rows; row += row_step) {
      work(row, column);
      column += column_step;
      if (column >= columns) {
        column -= columns;
        ++row;
      }
    }
  });
}

template <typename T>
HEADWAY_DEVICE void fill(Block& block, Shared<T> array, int count, float value) {
  for_each(block, count, [&](int i) { put(array, i, value); });
}

}  // namespace headway::training::HEADWAY_GPU
