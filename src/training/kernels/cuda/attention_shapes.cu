// The attention kernels made for a shape, compiled to CUDA.
#include "training/kernels/cuda/attention_shapes.hpp"

namespace headway::training::gpu_kernels {

HEADWAY_PASSES_OF_SHAPES()

}  // namespace headway::training::gpu_kernels
