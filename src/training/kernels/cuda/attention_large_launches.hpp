#pragma once

#include "headway/error.hpp"
#include "training/kernels/cuda/attention_large_forward.hpp"

// The kernel for large layers as a function of a block, and its launch.
namespace headway::training::HEADWAY_GPU {

template <int dims>
struct LargeForwardKernel {
  AttentionArguments<Bf16> x;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    LargeForward<dims>(block, memory, x).run();
  }
};

/// Error{kInternal} where rows of keys or values do not begin at multiples of 16 bytes.
template <typename Device>
void launch_large_forward(Device& device, const GpuAttentionPlan& plan,
                          AttentionArguments<Bf16> x) {
  x.plan = plan.forward;
  for (const TokenSteps& steps : {x.key_steps, x.value_steps}) {
    if (steps.token % 8 == 0 && steps.example % 8 == 0) continue;
    throw Error(ErrorKind::kInternal, "attention of a large layer: rows off the grid of 16 bytes");
  }
  const auto launch = [&](const auto& kernel) {
    const int tiles = ceiling(x.queries, x.plan.tile_queries);
    device.launch({x.batch, tiles, x.plan.threads, x.plan.shared_bytes}, kernel);
  };
  if (x.value_dim == 64) {
    launch(LargeForwardKernel<64>{x});
  } else {
    launch(LargeForwardKernel<32>{x});
  }
}

}  // namespace headway::training::HEADWAY_GPU
