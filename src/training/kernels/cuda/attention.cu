// The fused attention kernels for NVIDIA GPUs: their text, compiled to CUDA, and its launches.
// Those made for a shape are compiled in attention_shapes.cu.
#include <cstdlib>
#include <string_view>

#include "training/kernels/cuda/attention_binding.hpp"
#include "training/kernels/cuda/attention_launches.hpp"
#include "training/kernels/cuda/attention_shapes.hpp"
#include "training/kernels/cuda/gpu_attention.hpp"
#include "training/kernels/cuda/launch.hpp"

namespace headway::training {
namespace {

using gpu_kernels::Arithmetic;
using gpu_kernels::AttentionArguments;
using gpu_kernels::check;
using gpu_kernels::GradientArguments;
using gpu_kernels::StreamOfDevice;

template <typename T>
AttentionArguments<T> bind(const GpuAttentionLayer& layer, const GpuAttentionInputs& in,
                           const GpuAttentionOutputs& out) {
  auto x = gpu_kernels::arguments_of<T>(layer.shape, layer.options);
  x.query = static_cast<const T*>(in.query);
  x.key = static_cast<const T*>(in.key);
  x.value = static_cast<const T*>(in.value);
  x.bias = {in.bias, in.stack.bias};
  x.key_mask = in.key_mask;
  x.mixing = {in.mixing, in.stack.mixing};
  x.dropout.given = {in.dropout.given, in.stack.dropout};
  if (in.dropout.index != nullptr) {
    x.dropout = gpu_kernels::drawn_dropout(in.dropout.index, in.dropout.seed, in.dropout.rate,
                                           in.dropout.columns, in.dropout.first_row,
                                           in.dropout.first_column);
  }
  if (in.query_steps.token > 0) x.query_steps = in.query_steps;
  if (in.key_steps.token > 0) x.key_steps = in.key_steps;
  if (in.value_steps.token > 0) x.value_steps = in.value_steps;
  x.output = static_cast<T*>(out.output);
  x.log_sum_exp = out.log_sum_exp;
  return x;
}

template <typename T>
GradientArguments<T> bind(const GpuAttentionOutputs& out, const void* d_output,
                          const GpuAttentionGradients& gradients) {
  GradientArguments<T> y = {};
  y.output = static_cast<const T*>(out.output);
  y.log_sum_exp = out.log_sum_exp;
  y.d_output = static_cast<const T*>(d_output);
  y.over_keys = gradients.over_keys;
  y.query_sums = gradients.query_sums;
  y.query_sum_steps = gradients.query_sum_steps;
  y.key = static_cast<T*>(gradients.key);
  y.value = static_cast<T*>(gradients.value);
  y.bias_sums = gradients.bias_sums;
  y.mixing_sums = gradients.mixing_sums;
  return y;
}

// work.template operator()<kind, T>()
template <typename Work>
void with_arithmetic(GpuArithmetic arithmetic, const Work& work) {
  switch (arithmetic) {
    case GpuArithmetic::kFloat32:
      return work.template operator()<Arithmetic::kFloat32, float>();
    case GpuArithmetic::kTf32:
      return work.template operator()<Arithmetic::kTf32, float>();
    case GpuArithmetic::kBf16:
      return work.template operator()<Arithmetic::kBf16, Bf16>();
  }
}

}  // namespace

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
  with_arithmetic(layer.arithmetic, [&]<Arithmetic kind, typename T>() {
    const auto x = bind<T>(layer, inputs, outputs);
    if (plan.kernel == GpuAttentionKernel::kNarrow) {
      gpu_kernels::narrow_forward(device, plan, x);
      return;
    }
    if constexpr (kind == Arithmetic::kBf16) {
      if (plan.kernel == GpuAttentionKernel::kLarge) {
        return gpu_kernels::large_forward(device, plan, x);
      }
    }
    gpu_kernels::launch_general_forward<kind>(device, plan, x);
  });
}

void gpu_attention_backward(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                            const GpuAttentionInputs& inputs, const GpuAttentionPassedBack& passed,
                            const GpuAttentionGradients& gradients, void* stream) {
  StreamOfDevice device(stream, static_cast<int>(inputs.stack.runs));
  with_arithmetic(layer.arithmetic, [&]<Arithmetic kind, typename T>() {
    const auto x = bind<T>(layer, inputs, passed.outputs);
    auto y = bind<T>(passed.outputs, passed.d_output, gradients);
    const gpu_kernels::SummedGradients<T> sums = {static_cast<T*>(gradients.query), gradients.bias,
                                                  gradients.mixing};
    if (plan.kernel == GpuAttentionKernel::kGeneral) {
      return gpu_kernels::launch_general_backward<kind>(device, plan, x, y, sums);
    }
    y.query = sums.query;
    if (plan.kernel == GpuAttentionKernel::kNarrow) {
      gpu_kernels::narrow_backward(device, plan, x, y);
    }
    if constexpr (kind == Arithmetic::kBf16) {
      if (plan.kernel == GpuAttentionKernel::kLarge) {
        gpu_kernels::large_backward(device, plan, x, y);
      }
    }
    gpu_kernels::launch_sums(device, plan, y, sums);
  });
}

}  // namespace headway::training
