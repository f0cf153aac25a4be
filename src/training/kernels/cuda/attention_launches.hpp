#pragma once

#include <utility>

#include "training/kernels/cuda/attention_backward.hpp"
#include "training/kernels/cuda/attention_forward.hpp"
#include "training/kernels/cuda/attention_large_launches.hpp"
#include "training/kernels/cuda/attention_narrow_launches.hpp"

// The kernels as functions of a block, and the order in which a pass launches them. A Device has
// launch(Grid, kernel): on a GPU that of attention.cu, in the tests the emulator's.
namespace headway::training::HEADWAY_GPU {

template <Arithmetic kind, typename T>
struct ForwardKernel {
  AttentionArguments<T> x;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    AttentionForward<kind, T>(block, memory, x).run();
  }
};

template <Arithmetic kind, typename T>
struct SumsOverKeysKernel {
  AttentionArguments<T> x;
  GradientArguments<T> gradients;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    SumsOverKeys<kind, T>(block, memory, x, gradients).run();
  }
};

template <Arithmetic kind, typename T>
struct BackwardKernel {
  AttentionArguments<T> x;
  GradientArguments<T> gradients;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    AttentionBackward<kind, T>(block, memory, x, gradients).run();
  }
};

template <typename T>
struct SumOfCopiesKernel {
  Global<const float> copies;
  int count_of_copies;
  std::int64_t count;
  Global<T> out;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    sum_copies(block, copies, count_of_copies, count, out);
  }
};

/// Where the sums of the backward pass's copies go: AttentionGradients of
/// headway/training/attention.hpp, bias and mixing null where there are none. What is null is left
/// in its copies.
template <typename T>
struct SummedGradients {
  Global<T> query;
  Global<float> bias, mixing;
};

template <Arithmetic kind, typename T, typename Device>
void launch_general_forward(Device& device, const GpuAttentionPlan& plan, AttentionArguments<T> x) {
  x.plan = plan.forward;
  const int tiles = ceiling(x.queries, x.plan.tile_queries);
  device.launch({x.batch * (x.heads / x.plan.heads), tiles, x.plan.threads, x.plan.shared_bytes},
                ForwardKernel<kind, T>{x});
}

template <typename T, typename Device>
void launch_sum(Device& device, Global<const float> copies, int count_of_copies, std::int64_t count,
                Global<T> out) {
  constexpr int kThreads = 256;
  const auto blocks = static_cast<int>((count + kThreads - 1) / kThreads);
  device.launch({blocks, 1, kThreads, 0},
                SumOfCopiesKernel<T>{copies, count_of_copies, count, out});
}

/// The copies of the gradients of bias and M_h that a backward pass left.
template <typename T, typename Device>
void launch_sums(Device& device, const GpuAttentionPlan& plan,
                 const GradientArguments<T>& gradients, const SummedGradients<T>& out) {
  const int groups = plan.backward.groups;
  if (plan.bias_sums > 0 && !(out.bias == nullptr)) {
    launch_sum(device, Global<const float>(gradients.bias_sums), groups, plan.bias_sums / groups,
               out.bias);
  }
  if (plan.mixing_sums > 0 && !(out.mixing == nullptr)) {
    const int copies = groups * plan.backward.key_slices;
    launch_sum(device, Global<const float>(gradients.mixing_sums), copies,
               plan.mixing_sums / copies, out.mixing);
  }
}

/// The sums over keys where softmax needs them, the gradients, then the sums of their copies.
template <Arithmetic kind, typename T, typename Device>
void launch_general_backward(Device& device, const GpuAttentionPlan& plan, AttentionArguments<T> x,
                             GradientArguments<T> gradients, const SummedGradients<T>& out) {
  if (plan.over_keys > 0) {
    x.plan = plan.sums;
    const int tiles = ceiling(x.queries, x.plan.tile_queries);
    device.launch({x.batch * (x.heads / x.plan.heads), tiles, x.plan.threads, x.plan.shared_bytes},
                  SumsOverKeysKernel<kind, T>{x, gradients});
    gradients.known_over_keys = gradients.over_keys;
  }
  x.plan = plan.backward;
  if (gradients.query_sum_steps.token == 0) {
    const std::int64_t row = static_cast<std::int64_t>(x.heads) * x.query_dim;
    gradients.query_sum_steps = {row, row * x.queries};
  }
  const bool stores_queries = x.plan.key_slices == 1;  // else copies are summed
  if (stores_queries) gradients.query = out.query;
  const int runs = x.plan.groups * (x.heads / x.plan.heads);
  device.launch({runs, x.plan.key_slices, x.plan.threads, x.plan.shared_bytes},
                BackwardKernel<kind, T>{x, gradients});
  if (!stores_queries && !(out.query == nullptr)) {
    const std::int64_t query = plan.query_sums / x.plan.key_slices;
    launch_sum(device, Global<const float>(gradients.query_sums), x.plan.key_slices, query,
               out.query);
  }
  launch_sums(device, plan, gradients, out);
}

/// The forward pass by the kernel that the plan names.
template <Arithmetic kind, typename T, typename Device>
void launch_forward(Device& device, const GpuAttentionPlan& plan, const AttentionArguments<T>& x) {
  if (plan.kernel == GpuAttentionKernel::kNarrow) {
    launch_narrow_forward(device, plan, x);
    return;
  }
  if constexpr (kind == Arithmetic::kBf16) {
    if (plan.kernel == GpuAttentionKernel::kLarge) {
      return launch_large_forward(device, plan, x);
    }
  }
  launch_general_forward<kind>(device, plan, x);
}

/// The backward pass by the kernels that the plan names.
template <Arithmetic kind, typename T, typename Device>
void launch_backward(Device& device, const GpuAttentionPlan& plan, const AttentionArguments<T>& x,
                     GradientArguments<T> gradients, const SummedGradients<T>& out) {
  if (plan.kernel == GpuAttentionKernel::kGeneral) {
    return launch_general_backward<kind>(device, plan, x, gradients, out);
  }
  gradients.query = out.query;
  if (plan.kernel == GpuAttentionKernel::kNarrow) {
    launch_narrow_backward(device, plan, x, gradients);
  }
  if constexpr (kind == Arithmetic::kBf16) {
    if (plan.kernel == GpuAttentionKernel::kLarge) {
      launch_large_backward(device, plan, x, gradients);
    }
  }
  launch_sums(device, plan, gradients, out);
}

}  // namespace headway::training::HEADWAY_GPU
