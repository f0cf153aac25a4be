// The fused attention kernels for NVIDIA GPUs: their text, compiled to CUDA, and its launches.
// Those made for a shape are compiled in attention_shapes.cu.
#include <cstdlib>
#include <string_view>

#include "training/kernels/cuda/attention_passes.hpp"
#include "training/kernels/cuda/attention_shapes.hpp"
#include "training/kernels/cuda/gpu_attention.hpp"
#include "training/kernels/cuda/launch.hpp"

namespace headway::training {
using gpu_kernels::check;
using gpu_kernels::StreamOfDevice;

GpuDevice gpu_device(int device) {
  const auto attribute = [device](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), ErrorKind::kUnavailable,
          "properties of the device");
    return value;
  };
  const char* chosen =
      std::getenv("HEADWAY_GPU_ATTENTION");  // NOLINT(concurrency-mt-unsafe): is read
  return {attribute(cudaDevAttrMultiProcessorCount),
          attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
          attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
          chosen == nullptr || std::string_view(chosen) != "general"};
}

void gpu_attention_forward(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                           const GpuAttentionInputs& inputs, const GpuAttentionOutputs& outputs,
                           void* stream) {
  StreamOfDevice device(stream, static_cast<int>(inputs.stack.runs));
  gpu_kernels::run_forward(device, layer, plan, inputs, outputs);
}

void gpu_attention_backward(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                            const GpuAttentionInputs& inputs, const GpuAttentionPassedBack& passed,
                            const GpuAttentionGradients& gradients, void* stream) {
  StreamOfDevice device(stream, static_cast<int>(inputs.stack.runs));
  gpu_kernels::run_backward(device, layer, plan, inputs, passed, gradients);
}

}  // namespace headway::training
