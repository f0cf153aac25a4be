#pragma once

#include "training/kernels/cuda/attention_narrow_backward.hpp"
#include "training/kernels/cuda/attention_narrow_forward.hpp"
#include "training/kernels/cuda/attention_small_backward.hpp"
#include "training/kernels/cuda/attention_small_forward.hpp"

// The kernels for small layers as functions of a block, and their launches.
namespace headway::training::HEADWAY_GPU {

template <typename T, typename Cut, bool generated>
struct SmallForwardKernel {
  AttentionArguments<T> x;
  SmallSizes sizes;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    SmallForward<T, Cut, generated>(block, x, SmallArrays(memory, sizes)).run();
  }
};

/// Most threads of a block of the backward pass, so that a lane's rows fit its registers.
constexpr int kMostSmallBackwardThreads = 128;

template <typename T, typename Cut, bool generated>
struct SmallBackwardKernel {
  static constexpr int kMostThreads = kMostSmallBackwardThreads;
  AttentionArguments<T> x;
  GradientArguments<T> gradients;
  SmallSizes sizes;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    SmallBackward<T, Cut, generated>(block, x, gradients, SmallArrays(memory, sizes)).run();
  }
};

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
    NarrowBackward<T, Cut, generated, softmax>(block, x, gradients, sizes, NarrowArrays(memory, sizes))
        .run();
  }
};

/// How a layer of so many heads, and dims of queries or values, is dealt to lanes: the first of
/// 8 x 4, 16 x 4, 8 x 16 and 16 x 16 heads and dims that holds it; 0 where none does.
struct SmallPadding {
  int heads, dims;
};
HEADWAY_BOTH constexpr SmallPadding small_padding(std::int64_t heads, std::int64_t dims) {
  if (heads > 16 || dims > 16) return {0, 0};
  return {heads > 8 ? 16 : 8, dims > 4 ? 16 : 4};
}

/// work.template operator()<Cut>() with the layer's cut.
template <typename Work>
void with_small_cut(const SmallPadding& padding, const Work& work) {
  if (padding.heads == 8 && padding.dims == 4) return work.template operator()<SmallCut<8, 4>>();
  if (padding.heads == 16 && padding.dims == 4) return work.template operator()<SmallCut<16, 4>>();
  if (padding.heads == 8) return work.template operator()<SmallCut<8, 16>>();
  work.template operator()<SmallCut<16, 16>>();
}

/// The same for a narrow layer, where a lane has the whole row.
template <typename Work>
void with_narrow_cut(const SmallPadding& padding, const Work& work) {
  if (padding.heads == 8) return work.template operator()<SmallCut<8, 4, 32>>();
  work.template operator()<SmallCut<16, 4, 64>>();
}

HEADWAY_BOTH SmallSizes small_sizes(const SmallPadding& padding, int queries, int keys, int tile,
                                    bool softmax) {
  const int row = padding.heads * padding.dims / kSmallRow * SmallCut<16, 4>::kRowStep;
  return {queries > keys ? queries : keys, tile, row, padding.heads, softmax};
}

template <typename T>
SmallPadding small_padding(const AttentionArguments<T>& x) {
  return small_padding(x.heads, x.query_dim > x.value_dim ? x.query_dim : x.value_dim);
}
template <typename T>
SmallSizes small_sizes(const AttentionArguments<T>& x, bool backward) {
  const bool softmax = backward && x.options.normalisation == Normalisation::kSoftmax;
  return small_sizes(small_padding(x), x.queries, x.keys, x.plan.tile_queries, softmax);
}

HEADWAY_BOTH int narrow_row(const SmallPadding& padding) {
  return padding.heads * padding.dims + 4;
}
HEADWAY_BOTH NarrowSizes narrow_sizes(const SmallPadding& padding, int queries, int keys,
                                      bool softmax) {
  return {queries, keys, padding.heads, narrow_row(padding), softmax};
}

template <typename T, typename Device>
void launch_small_forward(Device& device, const GpuAttentionPlan& plan, AttentionArguments<T> x) {
  x.plan = plan.forward;
  const auto launch = [&](const auto& kernel) {
    const int tiles = ceiling(x.queries, x.plan.tile_queries);
    device.launch({x.batch, tiles, x.plan.threads, x.plan.shared_bytes}, kernel);
  };
  const bool plain = x.options.value_network == ValueNetwork::kPlain;
  const bool softmax = x.options.normalisation == Normalisation::kSoftmax;
  if (x.plan.lane_row > kSmallRow) {
    const NarrowTile sizes = {x.keys, x.plan.tile_queries, narrow_row(small_padding(x))};
    with_narrow_cut(small_padding(x), [&]<typename Cut>() {
      if (plain && softmax) return launch(NarrowForwardKernel<T, Cut, false, true>{x, sizes});
      if (plain) return launch(NarrowForwardKernel<T, Cut, false, false>{x, sizes});
      if (softmax) return launch(NarrowForwardKernel<T, Cut, true, true>{x, sizes});
      launch(NarrowForwardKernel<T, Cut, true, false>{x, sizes});
    });
    return;
  }
  with_small_cut(small_padding(x), [&]<typename Cut>() {
    if (plain) return launch(SmallForwardKernel<T, Cut, false>{x, small_sizes(x, false)});
    launch(SmallForwardKernel<T, Cut, true>{x, small_sizes(x, false)});
  });
}

template <typename T, typename Device>
void launch_narrow_backward(Device& device, const AttentionArguments<T>& x,
                            const GradientArguments<T>& gradients) {
  const bool softmax = x.options.normalisation == Normalisation::kSoftmax;
  const NarrowSizes sizes = narrow_sizes(small_padding(x), x.queries, x.keys, softmax);
  const auto launch = [&](const auto& kernel) {
    device.launch({x.plan.groups, 1, x.plan.threads, x.plan.shared_bytes}, kernel);
  };
  with_narrow_cut(small_padding(x), [&]<typename Cut>() {
    if (x.options.value_network != ValueNetwork::kPlain) {
      return launch(NarrowBackwardKernel<T, Cut, true, false>{x, gradients, sizes});
    }
    if (softmax) return launch(NarrowBackwardKernel<T, Cut, false, true>{x, gradients, sizes});
    launch(NarrowBackwardKernel<T, Cut, false, false>{x, gradients, sizes});
  });
}

/// The gradient of queries goes to gradients.query, or where that is null to query_sums. Copies of
/// the gradient of the bias are left for the caller to sum.
template <typename T, typename Device>
void launch_small_backward(Device& device, const GpuAttentionPlan& plan, AttentionArguments<T> x,
                           GradientArguments<T> gradients) {
  x.plan = plan.backward;
  if (gradients.query_sum_steps.token == 0) {
    const std::int64_t row = static_cast<std::int64_t>(x.heads) * x.query_dim;
    gradients.query_sum_steps = {row, row * x.queries};
  }
  if (x.plan.lane_row > kSmallRow) return launch_narrow_backward(device, x, gradients);
  const int query_tiles = ceiling(x.queries, x.plan.tile_queries);
  const int key_tiles = ceiling(x.keys, x.plan.tile_queries);
  const SmallSizes sizes = small_sizes(x, true);
  const auto launch = [&](int tiles, const auto& kernel) {
    device.launch({x.plan.groups, tiles, x.plan.threads, x.plan.shared_bytes}, kernel);
  };
  with_small_cut(small_padding(x), [&]<typename Cut>() {
    const int tiles = query_tiles + key_tiles;
    if (x.options.value_network == ValueNetwork::kPlain) {
      launch(tiles, SmallBackwardKernel<T, Cut, false>{x, gradients, sizes});
      return;
    }
    if (plan.over_keys > 0) {
      launch(query_tiles, SmallBackwardKernel<T, Cut, true>{x, gradients, sizes});
      gradients.known_over_keys = gradients.over_keys;
    }
    launch(tiles, SmallBackwardKernel<T, Cut, true>{x, gradients, sizes});
  });
}

}  // namespace headway::training::HEADWAY_GPU
