#pragma once

#include <string>

#include "headway/training/train_options.hpp"

namespace headway::training {

/// Whether LibTorch is here and can be loaded; without it a Trainer cannot be made
/// (Error{kUnavailable}).
bool training_available();

/// Why not, in a sentence; "" where it is available.
std::string training_obstacle();

/// Whether LibTorch is there and finds a CUDA device. Without CUDA's driver the answer is no, and
/// LibTorch is not loaded.
bool cuda_available();

/// kCpu or kCuda: for kAuto kCuda if a CUDA device is found. Loads LibTorch for kCuda, and for
/// kAuto if CUDA's driver is there. Error{kUnavailable} if LibTorch cannot be loaded, and for kCuda
/// without a CUDA device.
Device resolve_device(Device wanted);

/// A GPU, as CUDA's driver tells of it.
struct Gpu {
  std::string name;  ///< "NVIDIA H100 80GB HBM3"; "" where it is not known
  int cuda = 0;      ///< newest version of CUDA that the driver knows, 12040 for 12.4; 0: not known
};

/// The GPU that training uses: the first that this process may see. Empty without a driver.
Gpu first_gpu();

/// "NVIDIA H100 80GB HBM3, driver of CUDA 12.4; LibTorch 2.5.1 ...; precision bf16": what a result
/// says of the GPU that computed it. `backend`: training_backend().
std::string gpu_text(const Gpu& gpu, const std::string& backend, const std::string& precision);

/// One line for -v: LibTorch's version, CUDA and its devices, what multiplies matrices, the
/// kernels' instruction set. Error{kUnavailable} without LibTorch.
std::string training_backend();

/// Error{kUnavailable} if a limit on address space (ulimit -v) leaves too little for `threads`
/// threads of training. Without this check the threads would hang or end the process.
void require_training_space(int threads);

/// Flops a second of `threads` threads that do nothing but fused multiply-adds in float32, measured
/// now in about 50 ms; 0 if unknown. The speed of a training step is compared with this limit.
double measure_peak_flops(int threads);

}  // namespace headway::training
