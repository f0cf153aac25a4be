#pragma once

#include <memory>

#include "training/step/step_device.hpp"

// The NVIDIA GPU of a hand-written training step.
namespace headway::training {

/// Device 0, with launches on `stream` (a cudaStream_t). Arrays are its own memory. Products are
/// cuBLASLt's, which is looked up among the libraries of the process, then by its file name.
/// Error{kUnavailable} where there is none.
std::unique_ptr<detail::StepDevice> make_gpu_step_device(void* stream);

}  // namespace headway::training
