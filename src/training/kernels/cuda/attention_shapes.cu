// The attention kernels made for a shape, compiled to CUDA.
#include "training/kernels/cuda/attention_large_launches.hpp"
#include "training/kernels/cuda/attention_shapes.hpp"
#include "training/kernels/cuda/attention_small_launches.hpp"

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
void small_forward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                   const AttentionArguments<T>& x) {
  launch_small_forward(device, plan, x);
}

template <typename T>
void small_backward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                    const AttentionArguments<T>& x, const GradientArguments<T>& gradients) {
  launch_small_backward(device, plan, x, gradients);
}

#define HEADWAY_SMALL_PASSES(T)                                                                    \
  template void small_forward(StreamOfDevice&, const GpuAttentionPlan&,                            \
                              const AttentionArguments<T>&);                                       \
  template void small_backward(StreamOfDevice&, const GpuAttentionPlan&,                           \
                               const AttentionArguments<T>&, const GradientArguments<T>&);
HEADWAY_SMALL_PASSES(float)
HEADWAY_SMALL_PASSES(Bf16)
#undef HEADWAY_SMALL_PASSES

}  // namespace headway::training::gpu_kernels
