#include "training/torch/device_attention.hpp"

namespace headway::training::detail {

#ifdef HEADWAY_GPU_KERNELS

const GpuAttentionKernels* built_gpu_kernels() {
  static const GpuAttentionKernels kernels = {[] { return gpu_device(0); }, gpu_attention_forward,
                                              gpu_attention_backward};
  return &kernels;
}

#else

const GpuAttentionKernels* built_gpu_kernels() { return nullptr; }

#endif

}  // namespace headway::training::detail
