// The emulated GPU, in the form of the kernels that a trainer's engine takes.
#pragma once

#include "training/model/transformer_engine.hpp"

namespace headway::testing {

/// How often the emulated kernels were called.
struct EmulatedCalls {
  int forward = 0;
  int backward = 0;
  training::GpuAttentionLayer last;
};
EmulatedCalls& emulated_calls();

/// The kernels of the GPU for which plans are made by default.
extern const training::detail::GpuAttentionKernels kEmulatedKernels;

/// The kernels of a GPU whose memory does not hold a single tile.
extern const training::detail::GpuAttentionKernels kTinyKernels;

}  // namespace headway::testing
