#pragma once

#include "training/kernels/cuda/attention_arguments.hpp"
#include "training/kernels/cuda/launch.hpp"
#include "training/kernels/cuda/tile_product.hpp"

// The passes by kernels made for a shape, compiled by themselves (attention_shapes.cu). For nvcc
// alone.
namespace headway::training::gpu_kernels {

template <typename T>
void narrow_forward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                    const AttentionArguments<T>& x);

/// The gradient of the bias is left in its copies.
template <typename T>
void narrow_backward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                     const AttentionArguments<T>& x, const GradientArguments<T>& gradients);

void large_forward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                   const AttentionArguments<Bf16>& x);

/// The gradient of the bias is left in its copies.
void large_backward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                    const AttentionArguments<Bf16>& x, const GradientArguments<Bf16>& gradients);

}  // namespace headway::training::gpu_kernels
