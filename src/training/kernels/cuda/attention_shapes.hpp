#pragma once

#include "training/kernels/cuda/attention_large_launches.hpp"
#include "training/kernels/cuda/attention_narrow_launches.hpp"
#include "training/kernels/cuda/launch.hpp"

// The passes by kernels made for a shape are compiled by themselves (attention_shapes.cu), beside
// the general ones. For nvcc alone. `declared`: extern, or nothing where they are compiled.
#define HEADWAY_NARROW_PASSES(declared, T)                                                \
  declared template void launch_narrow_forward(StreamOfDevice&, const GpuAttentionPlan&,  \
                                               AttentionArguments<T>);                    \
  declared template void launch_narrow_backward(StreamOfDevice&, const GpuAttentionPlan&, \
                                                AttentionArguments<T>, GradientArguments<T>);
#define HEADWAY_PASSES_OF_SHAPES(declared)                                               \
  HEADWAY_NARROW_PASSES(declared, float)                                                 \
  HEADWAY_NARROW_PASSES(declared, Bf16)                                                  \
  declared template void launch_large_forward(StreamOfDevice&, const GpuAttentionPlan&,  \
                                              AttentionArguments<Bf16>);                 \
  declared template void launch_large_backward(StreamOfDevice&, const GpuAttentionPlan&, \
                                               AttentionArguments<Bf16>, GradientArguments<Bf16>);

namespace headway::training::gpu_kernels {

HEADWAY_PASSES_OF_SHAPES(extern)

}  // namespace headway::training::gpu_kernels
