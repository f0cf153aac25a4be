#pragma once

#include <cstdint>

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
#include "training/kernels/cuda/emulator.hpp"
#endif

namespace headway::training::HEADWAY_GPU {

/// Of a block of this kernel.
template <typename Kernel>
constexpr int most_threads_of() {
  constexpr int kThreads = 256;
  if constexpr (requires { Kernel::kMostThreads; }) return Kernel::kMostThreads;
  return kThreads;
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
