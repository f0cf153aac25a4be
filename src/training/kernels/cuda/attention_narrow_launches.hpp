#pragma once

#include "training/kernels/cuda/attention_narrow_backward.hpp"
#include "training/kernels/cuda/attention_narrow_forward.hpp"

// The kernels for narrow layers as functions of a block, and their launches.
namespace headway::training::HEADWAY_GPU {

/// Most threads of a block of the forward pass of narrow layers.
constexpr int kMostNarrowForwardThreads = 128;

template <typename T, typename Cut, bool generated, bool softmax>
struct NarrowForwardKernel {
  static constexpr int kMostThreads = kMostNarrowForwardThreads;
  static constexpr int kFewestBlocks = 3;
  AttentionArguments<T> x;
  NarrowTile sizes;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    NarrowForward<T, Cut, generated, softmax>(block, x, NarrowTileArrays(memory, sizes)).run();
  }
};

template <typename T, typename Cut, bool generated, bool softmax>
struct NarrowBackwardKernel {
  static constexpr int kMostThreads = kMostNarrowThreads;
  static constexpr int kFewestBlocks = 1;
  AttentionArguments<T> x;
  GradientArguments<T> gradients;
  NarrowSizes sizes;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    NarrowBackward<T, Cut, generated, softmax>(block, x, gradients, sizes,
                                               NarrowArrays(memory, sizes))
        .run();
  }
};

/// Heads and dims of queries or values, padded; 0 where the layer is not narrow.
struct NarrowPadding {
  int heads, dims;
};
HEADWAY_BOTH constexpr NarrowPadding narrow_padding(std::int64_t heads, std::int64_t dims) {
  if (heads > 16 || dims > 4) return {0, 0};
  return {heads > 8 ? 16 : 8, 4};
}
template <typename T>
NarrowPadding narrow_padding(const AttentionArguments<T>& x) {
  return narrow_padding(x.heads, x.query_dim > x.value_dim ? x.query_dim : x.value_dim);
}

/// work.template operator()<Cut>() with the layer's cut.
template <typename Work>
void with_narrow_cut(const NarrowPadding& padding, const Work& work) {
  if (padding.heads == 8) return work.template operator()<NarrowCut<8, 4>>();
  work.template operator()<NarrowCut<16, 4>>();
}

HEADWAY_BOTH int narrow_row(const NarrowPadding& padding) {
  return padding.heads * padding.dims + 4;
}
HEADWAY_BOTH NarrowSizes narrow_sizes(const NarrowPadding& padding, int queries, int keys,
                                      bool softmax) {
  return {queries, keys, padding.heads, narrow_row(padding), softmax};
}

template <typename T, typename Device>
void launch_narrow_forward(Device& device, const GpuAttentionPlan& plan, AttentionArguments<T> x) {
  x.plan = plan.forward;
  const NarrowTile sizes = {x.keys, x.plan.tile_queries, narrow_row(narrow_padding(x))};
  const bool plain = x.options.value_network == ValueNetwork::kPlain;
  const bool softmax = x.options.normalisation == Normalisation::kSoftmax;
  const auto launch = [&](const auto& kernel) {
    const int tiles = ceiling(x.queries, x.plan.tile_queries);
    device.launch({x.batch, tiles, x.plan.threads, x.plan.shared_bytes}, kernel);
  };
  with_narrow_cut(narrow_padding(x), [&]<typename Cut>() {
    if (!plain) return launch(NarrowForwardKernel<T, Cut, true, false>{x, sizes});
    if (softmax) return launch(NarrowForwardKernel<T, Cut, false, true>{x, sizes});
    launch(NarrowForwardKernel<T, Cut, false, false>{x, sizes});
  });
}

/// The gradient of queries goes to gradients.query, or where that is null to query_sums. Copies of
/// the gradient of the bias are left for the caller to sum.
template <typename T, typename Device>
void launch_narrow_backward(Device& device, const GpuAttentionPlan& plan, AttentionArguments<T> x,
                            GradientArguments<T> gradients) {
  x.plan = plan.backward;
  if (gradients.query_sum_steps.token == 0) {
    const std::int64_t row = static_cast<std::int64_t>(x.heads) * x.query_dim;
    gradients.query_sum_steps = {row, row * x.queries};
  }
  const bool softmax = x.options.normalisation == Normalisation::kSoftmax;
  const NarrowSizes sizes = narrow_sizes(narrow_padding(x), x.queries, x.keys, softmax);
  const auto launch = [&](const auto& kernel) {
    device.launch({x.plan.groups, 1, x.plan.threads, x.plan.shared_bytes}, kernel);
  };
  with_narrow_cut(narrow_padding(x), [&]<typename Cut>() {
    if (x.options.value_network != ValueNetwork::kPlain) {
      return launch(NarrowBackwardKernel<T, Cut, true, false>{x, gradients, sizes});
    }
    if (softmax) return launch(NarrowBackwardKernel<T, Cut, false, true>{x, gradients, sizes});
    launch(NarrowBackwardKernel<T, Cut, false, false>{x, gradients, sizes});
  });
}

}  // namespace headway::training::HEADWAY_GPU
