#pragma once

#include "headway/core/rng.hpp"
#include "training/kernels/cuda/attention_launches.hpp"
#include "training/kernels/cuda/gpu_attention.hpp"

// The passes of gpu_attention.hpp on any Device: it has launch(Grid, kernel), and bind(pointer),
// which gives a pointer as kernels take it.
namespace headway::training::HEADWAY_GPU {

/// Of an array [B, tokens, row].
inline TokenSteps dense_steps(Index tokens, Index row) { return {row, tokens * row}; }

/// All but the pointers. Arrays are dense.
template <typename T>
AttentionArguments<T> arguments_of(const AttentionShape& n, const AttentionOptions& options) {
  AttentionArguments<T> x = {};
  x.options = options;
  x.batch = static_cast<int>(n.batch);
  x.heads = static_cast<int>(n.heads);
  x.queries = static_cast<int>(n.queries);
  x.keys = static_cast<int>(n.keys);
  x.query_dim = static_cast<int>(n.query_dim);
  x.value_dim = static_cast<int>(n.value_dim);
  x.query_steps = dense_steps(n.queries, n.heads * n.query_dim);
  x.key_steps = dense_steps(n.keys, n.heads * n.query_dim);
  x.value_steps = dense_steps(n.keys, n.heads * n.value_dim);
  return x;
}

/// Dropout that is drawn: pairs whose uniform number (n + 1/2) 2^-52 is below `rate` are dropped.
/// The matrix drawn has `columns` columns, and (row, column) belongs to query 0 and key 0.
inline PairDropout drawn_dropout(Global<const std::uint64_t> index, std::uint64_t seed, double rate,
                                 Index columns, Index row, Index column) {
  PairDropout x = {};
  x.index = index;
  x.seed[0] = static_cast<std::uint32_t>(seed);
  x.seed[1] = static_cast<std::uint32_t>(seed >> 32U);
  x.purpose = static_cast<std::uint32_t>(StreamPurpose::kDropout);
  // n + 1/2 < rate 2^52 for whole n; rate 2^52 is exact, and its half below 2^52 is too.
  const double threshold = rate * 0x1p52;
  const auto whole = static_cast<std::uint64_t>(threshold);
  x.first_kept = whole + (threshold - static_cast<double>(whole) > 0.5 ? 1 : 0);
  x.kept = static_cast<float>(1.0 / (1.0 - rate));
  x.columns = static_cast<int>(columns);
  x.first_row = static_cast<int>(row);
  x.first_column = static_cast<int>(column);
  return x;
}

/// work.template operator()<kind, T>(), where T is what arrays are made of.
template <typename Work>
auto with_arithmetic(GpuArithmetic arithmetic, const Work& work) {
  switch (arithmetic) {
    case GpuArithmetic::kFloat32:
      return work.template operator()<Arithmetic::kFloat32, float>();
    case GpuArithmetic::kTf32:
      return work.template operator()<Arithmetic::kTf32, float>();
    case GpuArithmetic::kBf16:
      break;
  }
  return work.template operator()<Arithmetic::kBf16, Bf16>();
}

template <typename T, typename Device>
AttentionArguments<T> bound(Device& device, const GpuAttentionLayer& layer,
                            const GpuAttentionInputs& in, const GpuAttentionOutputs& out) {
  auto x = arguments_of<T>(layer.shape, layer.options);
  x.query = device.bind(static_cast<const T*>(in.query));
  x.key = device.bind(static_cast<const T*>(in.key));
  x.value = device.bind(static_cast<const T*>(in.value));
  x.bias = {device.bind(in.bias), in.stack.bias};
  x.key_mask = device.bind(in.key_mask);
  x.mixing = {device.bind(in.mixing), in.stack.mixing};
  x.dropout.given = {device.bind(in.dropout.given), in.stack.dropout};
  if (in.dropout.index != nullptr) {
    x.dropout = drawn_dropout(device.bind(in.dropout.index), in.dropout.seed, in.dropout.rate,
                              in.dropout.columns, in.dropout.first_row, in.dropout.first_column);
  }
  if (in.query_steps.token > 0) x.query_steps = in.query_steps;
  if (in.key_steps.token > 0) x.key_steps = in.key_steps;
  if (in.value_steps.token > 0) x.value_steps = in.value_steps;
  x.output = device.bind(static_cast<T*>(out.output));
  x.log_sum_exp = device.bind(out.log_sum_exp);
  return x;
}

template <typename T, typename Device>
GradientArguments<T> bound(Device& device, const GpuAttentionPassedBack& passed,
                           const GpuAttentionGradients& gradients) {
  GradientArguments<T> y = {};
  y.output = device.bind(static_cast<const T*>(passed.outputs.output));
  y.log_sum_exp = device.bind(static_cast<const float*>(passed.outputs.log_sum_exp));
  y.d_output = device.bind(static_cast<const T*>(passed.d_output));
  y.over_keys = device.bind(gradients.over_keys);
  y.query_sums = device.bind(gradients.query_sums);
  y.query_sum_steps = gradients.query_sum_steps;
  y.key = device.bind(static_cast<T*>(gradients.key));
  y.value = device.bind(static_cast<T*>(gradients.value));
  y.bias_sums = device.bind(gradients.bias_sums);
  y.mixing_sums = device.bind(gradients.mixing_sums);
  return y;
}

template <typename Device>
void run_forward(Device& device, const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                 const GpuAttentionInputs& in, const GpuAttentionOutputs& out) {
  with_arithmetic(layer.arithmetic, [&]<Arithmetic kind, typename T>() {
    launch_forward<kind>(device, plan, bound<T>(device, layer, in, out));
  });
}

template <typename Device>
void run_backward(Device& device, const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                  const GpuAttentionInputs& in, const GpuAttentionPassedBack& passed,
                  const GpuAttentionGradients& gradients) {
  with_arithmetic(layer.arithmetic, [&]<Arithmetic kind, typename T>() {
    const SummedGradients<T> sums = {device.bind(static_cast<T*>(gradients.query)),
                                     device.bind(gradients.bias), device.bind(gradients.mixing)};
    launch_backward<kind>(device, plan, bound<T>(device, layer, in, passed.outputs),
                          bound<T>(device, passed, gradients), sums);
  });
}

}  // namespace headway::training::HEADWAY_GPU
