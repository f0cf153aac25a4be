// The attention kernels made for a shape, compiled to CUDA.
#include "training/kernels/cuda/attention_large_launches.hpp"
#include "training/kernels/cuda/attention_narrow_launches.hpp"
#include "training/kernels/cuda/attention_shapes.hpp"

namespace headway::training::gpu_kernels {

void large_forward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                   const AttentionArguments<Bf16>& x) {
  launch_large_forward(device, plan, x);
}

void large_backward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                    const AttentionArguments<Bf16>& x, const GradientArguments<Bf16>& gradients) {
  launch_large_backward(device, plan, x, gradients);
}

template <typename T>
void narrow_forward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                    const AttentionArguments<T>& x) {
  launch_narrow_forward(device, plan, x);
}

template <typename T>
void narrow_backward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                     const AttentionArguments<T>& x, const GradientArguments<T>& gradients) {
  launch_narrow_backward(device, plan, x, gradients);
}

#define HEADWAY_NARROW_PASSES(T)                                          \
  template void narrow_forward(StreamOfDevice&, const GpuAttentionPlan&,  \
                               const AttentionArguments<T>&);             \
  template void narrow_backward(StreamOfDevice&, const GpuAttentionPlan&, \
                                const AttentionArguments<T>&, const GradientArguments<T>&);
HEADWAY_NARROW_PASSES(float)
HEADWAY_NARROW_PASSES(Bf16)
#undef HEADWAY_NARROW_PASSES

}  // namespace headway::training::gpu_kernels
