// The kernels for small layers, compiled to CUDA.
#include "training/kernels/cuda/attention_small_launches.hpp"
#include "training/kernels/cuda/attention_small_passes.hpp"

namespace headway::training::gpu_kernels {

template <Arithmetic kind, typename T>
void small_forward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                   const AttentionArguments<T>& x) {
  launch_small_forward<kind>(device, plan, x);
}

template <Arithmetic kind, typename T>
void small_backward(StreamOfDevice& device, const GpuAttentionPlan& plan,
                    const AttentionArguments<T>& x, const GradientArguments<T>& gradients) {
  launch_small_backward<kind>(device, plan, x, gradients);
}

#define HEADWAY_SMALL_PASSES(kind, T)                                                      \
  template void small_forward<Arithmetic::kind>(StreamOfDevice&, const GpuAttentionPlan&,  \
                                                const AttentionArguments<T>&);             \
  template void small_backward<Arithmetic::kind>(StreamOfDevice&, const GpuAttentionPlan&, \
                                                 const AttentionArguments<T>&,             \
                                                 const GradientArguments<T>&);
HEADWAY_SMALL_PASSES(kFloat32, float)
HEADWAY_SMALL_PASSES(kTf32, float)
HEADWAY_SMALL_PASSES(kBf16, Bf16)
#undef HEADWAY_SMALL_PASSES

}  // namespace headway::training::gpu_kernels
