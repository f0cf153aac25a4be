#pragma once

#include <cuda_runtime.h>

#include <string>

#include "headway/error.hpp"
#include "training/kernels/cuda/device.hpp"

// How kernels are launched on an NVIDIA GPU. For nvcc alone.
namespace headway::training::gpu_kernels {

inline void check(cudaError_t error, ErrorKind kind, const char* what) {
  if (error != cudaSuccess) {
    throw Error(kind, std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
  }
}

// Unless the kernel says otherwise, two blocks a multiprocessor: at most 128 registers a thread, or
// 255 of a kernel whose blocks have at most 128 threads.
template <typename Kernel>
__global__ void __launch_bounds__(most_threads_of<Kernel>(), fewest_blocks_of<Kernel>())
    block_of(const __grid_constant__ Kernel kernel) {
  extern __shared__ __align__(16) unsigned char shared[];
  Block block;
  SharedMemory memory(shared);
  kernel(block, memory);
}

struct Grid {
  int x, y, threads, shared_bytes;
  int runs = 1;  ///< a stack of runs has the grid once for each: z
};

class StreamOfDevice {
 public:
  /// `runs`: x of every grid counts the blocks of so many runs, one after the other.
  explicit StreamOfDevice(void* stream, int runs = 1)
      : stream_(static_cast<cudaStream_t>(stream)), runs_(runs) {}

  template <typename Kernel>
  void launch(const Grid& grid, const Kernel& kernel) {
    constexpr int kWithoutAsking = 48 * 1024;
    if (grid.shared_bytes > kWithoutAsking) {
      check(cudaFuncSetAttribute(block_of<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 grid.shared_bytes),
            ErrorKind::kInternal, "shared memory of a fused kernel");
    }
    block_of<Kernel><<<dim3(grid.x / runs_, grid.y, grid.runs * runs_), grid.threads,
                       grid.shared_bytes, stream_>>>(kernel);
    check(cudaGetLastError(), ErrorKind::kInternal, "launch of a fused kernel");
  }
  template <typename T>
  T* bind(T* pointer) {
    return pointer;
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_;
  int runs_;
};

}  // namespace headway::training::gpu_kernels
