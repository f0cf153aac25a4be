#include "training/kernels/cuda/attention_plan.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "training/kernels/cuda/attention_backward.hpp"
#include "training/kernels/cuda/attention_forward.hpp"
#include "training/kernels/cuda/attention_large_plan.hpp"
#include "training/kernels/cuda/attention_narrow_launches.hpp"
#include "training/kernels/cuda/attention_time.hpp"
#include "training/kernels/cuda/counted_memory.hpp"

namespace headway::training {
namespace {

constexpr int kThreads = 256;
constexpr Index kMostSlices = 16;
constexpr Index kMostPartialFloats = Index{1} << 26;  // 256 MiB
constexpr Index kLargestExample = Index{1} << 31;
constexpr Index kMostTiles = 65535;  // of queries: they lie along y of a grid

enum class Kernel { kForward, kSums, kBackward };

// A layer and what is asked of its kernels.
struct Layer {
  AttentionShape shape;
  AttentionOptions options;
  GpuArithmetic arithmetic;
  bool bias_gradient, dropout;
  GpuDevice device;

  [[nodiscard]] Index heads_of_block() const {
    return is_generated(options.value_network) || normalises_over_heads(options.normalisation)
               ? shape.heads
               : Index{1};
  }
};

template <typename T>
Index shared_bytes_of(const Layer& layer, Kernel kernel, const AttentionPlanSizes& sizes) {
  using emulated_kernels::Arithmetic;
  emulated_kernels::AttentionArguments<T> x = {};
  x.plan = sizes;
  x.options = layer.options;
  x.query_dim = static_cast<int>(layer.shape.query_dim);
  x.value_dim = static_cast<int>(layer.shape.value_dim);
  emulated_kernels::Array something;
  if (layer.dropout) x.dropout.given = emulated_kernels::Global<const float>{&something, 0};
  const emulated_kernels::GradientArguments<T> gradients = {};
  emulated_kernels::Block block(sizes.threads, 0, 0);
  CountedMemory memory;
  constexpr Arithmetic kAny = Arithmetic::kFloat32;
  switch (kernel) {
    case Kernel::kForward:
      static_cast<void>(emulated_kernels::AttentionForward<kAny, T>(block, memory, x));
      break;
    case Kernel::kSums:
      static_cast<void>(emulated_kernels::SumsOverKeys<kAny, T>(block, memory, x, gradients));
      break;
    case Kernel::kBackward:
      static_cast<void>(emulated_kernels::AttentionBackward<kAny, T>(block, memory, x, gradients));
      break;
  }
  return memory.bytes();
}

Index shared_bytes_of(const Layer& layer, Kernel kernel, const AttentionPlanSizes& sizes) {
  // Beyond any device, and beyond what `int` counts.
  const Index row = sizes.heads * std::max(layer.shape.query_dim, layer.shape.value_dim);
  const Index pairs = Index{sizes.tile_queries} * sizes.tile_keys;
  if (std::max(row * (sizes.tile_queries + sizes.tile_keys), pairs * sizes.tile_dims) > (1 << 24)) {
    return Index{1} << 30;
  }
  return layer.arithmetic == GpuArithmetic::kBf16 ? shared_bytes_of<Bf16>(layer, kernel, sizes)
                                                  : shared_bytes_of<float>(layer, kernel, sizes);
}

Index ceiling(Index a, Index b) { return (a + b - 1) / b; }

// Runs of examples: as many as there may be copies of the gradients that are summed over the batch.
Index groups_of(const Layer& layer) {
  const AttentionShape& n = layer.shape;
  const Index bias = layer.bias_gradient ? n.heads * n.queries * n.keys : 0;
  const Index mixing =
      has_mixing(layer.options.value_network) ? n.heads * n.value_dim * n.value_dim : 0;
  const Index floats = std::max(bias, mixing);
  if (floats == 0) return n.batch;
  return std::clamp(kMostPartialFloats / floats, Index{1}, n.batch);
}

// Slices of keys for the backward pass: until every multiprocessor has two blocks.
void cut_keys(const Layer& layer, AttentionPlanSizes* sizes) {
  const AttentionShape& n = layer.shape;
  const Index groups = groups_of(layer);
  const Index runs = groups * (n.heads / sizes->heads);
  Index slices = std::min(ceiling(Index{2} * layer.device.multiprocessors, runs), kMostSlices);
  if (has_mixing(layer.options.value_network)) {
    const Index copies = kMostPartialFloats / (n.heads * n.value_dim * n.value_dim);
    slices = std::clamp(copies / groups, Index{1}, slices);
  }
  const Index tiles = ceiling(n.keys, sizes->tile_keys);
  const Index slice_tiles = ceiling(tiles, std::min(slices, tiles));
  sizes->groups = static_cast<int>(groups);
  sizes->slice_keys = static_cast<int>(slice_tiles * sizes->tile_keys);
  sizes->key_slices = static_cast<int>(ceiling(tiles, slice_tiles));
}

// Time of the kernel in arbitrary units: waves of blocks, the work of a tile and what passes a
// barrier, and how well the blocks that fit beside each other hide each other's waiting. A model to
// rank tile sizes with; it decides speed, never a result.
double cost_of(const Layer& layer, Kernel kernel, const AttentionPlanSizes& sizes) {
  const AttentionShape& n = layer.shape;
  const double heads = sizes.heads;
  const double row = heads * static_cast<double>(n.query_dim + n.value_dim);
  const double query_tiles = static_cast<double>(ceiling(n.queries, sizes.tile_queries));
  const bool backward = kernel == Kernel::kBackward;
  const double keys = static_cast<double>(backward ? sizes.slice_keys : n.keys);
  const double key_tiles =
      static_cast<double>(ceiling(static_cast<Index>(keys), static_cast<Index>(sizes.tile_keys)));
  const double pair = heads * static_cast<double>(n.query_dim + 2 * n.value_dim);
  const double tile = sizes.tile_queries * sizes.tile_keys * pair +
                      8.0 * row * (sizes.tile_queries + sizes.tile_keys) + 64.0 * kThreads;
  double work = tile * key_tiles;
  double blocks = static_cast<double>(n.heads) / heads;
  if (backward) {
    work *= query_tiles * static_cast<double>(ceiling(n.batch, sizes.groups));
    blocks *= static_cast<double>(sizes.groups) * sizes.key_slices;
  } else {
    blocks *= static_cast<double>(n.batch) * query_tiles;
  }
  constexpr int kBlockOverhead = 1024;  // bytes that the driver keeps of each block
  const int beside =
      std::clamp(layer.device.shared_bytes / (sizes.shared_bytes + kBlockOverhead), 1, 4);
  constexpr double kHidden[] = {0.0, 0.55, 0.85, 0.95, 1.0};
  const double at_once = static_cast<double>(layer.device.multiprocessors) * beside;
  const double waves =
      static_cast<double>(ceiling(static_cast<Index>(blocks), static_cast<Index>(at_once)));
  return waves * beside * work / kHidden[beside];
}

constexpr std::initializer_list<Index> kSides = {128, 96, 64, 48, 32, 24, 16, 12, 8, 4, 2, 1};

// The largest tile of at most `most` that cuts `count` evenly.
int even_tile(Index count, Index most) {
  return static_cast<int>(ceiling(count, ceiling(count, most)));
}

std::optional<AttentionPlanSizes> best_sizes(const Layer& layer, Kernel kernel) {
  const AttentionShape& n = layer.shape;
  const bool deep = has_mixing(layer.options.value_network);
  std::optional<AttentionPlanSizes> best;
  double least = 0.0;
  for (const Index queries : kSides) {
    for (const Index keys : kSides) {
      for (const Index dims : kSides) {
        if (deep && dims != *kSides.begin()) continue;  // M_h mixes all dims
        if (kernel != Kernel::kBackward && ceiling(n.queries, queries) > kMostTiles) continue;
        AttentionPlanSizes sizes;
        sizes.threads = kThreads;
        sizes.heads = static_cast<int>(layer.heads_of_block());
        sizes.tile_queries = even_tile(n.queries, queries);
        sizes.tile_keys = even_tile(n.keys, keys);
        sizes.tile_dims = deep ? static_cast<int>(n.value_dim) : even_tile(n.value_dim, dims);
        const Index bytes = shared_bytes_of(layer, kernel, sizes);
        if (bytes > layer.device.block_shared_bytes) continue;
        sizes.shared_bytes = static_cast<int>(bytes);
        cut_keys(layer, &sizes);
        // Fewer dims at a time: more barriers, and nothing gained but memory.
        const double cost = cost_of(layer, kernel, sizes) *
                            (1.0 + 0.02 * static_cast<double>(ceiling(n.value_dim, dims)));
        if (best && cost >= least) continue;
        best = sizes;
        least = cost;
      }
    }
  }
  return best;
}

bool fits_int(const AttentionShape& n) {
  const Index tokens = std::max(n.queries, n.keys);
  const Index row = n.heads * std::max(n.query_dim, n.value_dim);
  return tokens * row < kLargestExample && n.queries * n.keys < kLargestExample &&
         n.heads * n.value_dim * n.value_dim < kLargestExample &&
         n.batch * n.heads < kLargestExample && n.heads * n.queries < kLargestExample;
}

// --- narrow layers ----------------------------------------------------------------------------

emulated_kernels::NarrowPadding padding_of(const AttentionShape& n) {
  return emulated_kernels::narrow_padding(n.heads, std::max(n.query_dim, n.value_dim));
}

// Whether the kernels for narrow layers take it, if it fits: padding is at most three quarters of
// their work. Softmax of a generated network would need two sweeps over the pairs, and has none.
bool is_narrow(const Layer& layer) {
  const AttentionShape& n = layer.shape;
  const auto padded = padding_of(n);
  constexpr Index kMostPadding = 4;
  constexpr Index kMostTokens = 64;
  if (normalises_over_keys(layer.options.normalisation) &&
      is_generated(layer.options.value_network)) {
    return false;
  }
  return padded.heads > 0 && std::max(n.queries, n.keys) <= kMostTokens &&
         !has_mixing(layer.options.value_network) &&
         Index{padded.heads} * padded.dims <=
             kMostPadding * n.heads * std::max(n.query_dim, n.value_dim);
}

// Tiles of queries of equal size, so few that a lane's rows fit its registers.
std::optional<AttentionPlanSizes> narrow_forward_sizes(const Layer& layer) {
  const AttentionShape& n = layer.shape;
  const auto padded = padding_of(n);
  constexpr Index kQueriesOfWarp = 32 / emulated_kernels::kNarrowSlices;
  constexpr Index kMostQueries =
      emulated_kernels::kMostNarrowForwardThreads / emulated_kernels::kNarrowSlices;
  const Index warps = ceiling(even_tile(n.queries, kMostQueries), kQueriesOfWarp);
  AttentionPlanSizes sizes;
  sizes.threads = static_cast<int>(32 * warps);
  sizes.heads = static_cast<int>(n.heads);
  sizes.tile_queries = static_cast<int>(warps * kQueriesOfWarp);
  sizes.tile_keys = static_cast<int>(n.keys);
  CountedMemory memory;
  static_cast<void>(emulated_kernels::NarrowTileArrays(
      memory, {sizes.tile_keys, sizes.tile_queries, emulated_kernels::narrow_row(padded)}));
  if (memory.bytes() > layer.device.block_shared_bytes) return std::nullopt;
  sizes.shared_bytes = static_cast<int>(memory.bytes());
  return sizes;
}

// A block has an example.
std::optional<AttentionPlanSizes> narrow_backward_sizes(const Layer& layer) {
  const AttentionShape& n = layer.shape;
  const auto padded = padding_of(n);
  const bool softmax = normalises_over_keys(layer.options.normalisation);
  constexpr Index kKeysOfWarp = 32 / emulated_kernels::kNarrowSlices;
  constexpr Index kMostWarps = emulated_kernels::kMostNarrowThreads / 32;
  AttentionPlanSizes sizes;
  sizes.threads = static_cast<int>(32 * std::min(ceiling(n.keys, kKeysOfWarp), kMostWarps));
  sizes.heads = static_cast<int>(n.heads);
  sizes.tile_queries = static_cast<int>(n.queries);
  sizes.tile_keys = static_cast<int>(n.keys);
  sizes.groups = static_cast<int>(groups_of(layer));
  sizes.key_slices = 1;
  CountedMemory memory;
  static_cast<void>(emulated_kernels::NarrowArrays(
      memory, emulated_kernels::narrow_sizes(padded, static_cast<int>(n.queries),
                                             static_cast<int>(n.keys), softmax)));
  if (memory.bytes() > layer.device.block_shared_bytes) return std::nullopt;
  sizes.shared_bytes = static_cast<int>(memory.bytes());
  return sizes;
}

std::optional<GpuAttentionPlan> plan_narrow(const Layer& layer) {
  const AttentionShape& n = layer.shape;
  const auto forward = narrow_forward_sizes(layer);
  const auto backward = narrow_backward_sizes(layer);
  if (!forward || !backward) return std::nullopt;
  GpuAttentionPlan plan;
  plan.kernel = GpuAttentionKernel::kNarrow;
  plan.forward = *forward;
  plan.backward = *backward;
  if (layer.bias_gradient) plan.bias_sums = groups_of(layer) * n.heads * n.queries * n.keys;
  return plan;
}

}  // namespace

std::optional<GpuAttentionPlan> plan_gpu_attention(const AttentionShape& shape,
                                                   const AttentionOptions& options,
                                                   GpuArithmetic arithmetic, bool bias_gradient,
                                                   bool dropout, const GpuDevice& device) {
  shape.validate();
  if (!fits_int(shape)) return std::nullopt;
  const Layer layer{shape, options, arithmetic, bias_gradient, dropout, device};
  if (device.kernels_by_shape && is_narrow(layer)) {
    if (const auto narrow = plan_narrow(layer)) return narrow;
  }
  if (device.kernels_by_shape && arithmetic == GpuArithmetic::kBf16) {
    const Index groups = groups_of(layer);
    if (auto large = plan_large_attention(shape, options, groups, device)) {
      if (bias_gradient) large->bias_sums = groups * shape.heads * shape.queries * shape.keys;
      return large;
    }
  }
  const bool softmax = normalises_over_keys(options.normalisation);
  const auto forward = best_sizes(layer, Kernel::kForward);
  const auto sums = softmax ? best_sizes(layer, Kernel::kSums) : AttentionPlanSizes{};
  const auto backward = best_sizes(layer, Kernel::kBackward);
  if (!forward || !sums || !backward) return std::nullopt;
  GpuAttentionPlan plan;
  plan.forward = *forward;
  plan.sums = *sums;
  plan.backward = *backward;
  const Index slices = plan.backward.key_slices;
  plan.query_sums = slices * shape.batch * shape.queries * shape.heads * shape.query_dim;
  if (bias_gradient) {
    plan.bias_sums = plan.backward.groups * shape.heads * shape.queries * shape.keys;
  }
  if (has_mixing(options.value_network)) {
    plan.mixing_sums =
        plan.backward.groups * slices * shape.heads * shape.value_dim * shape.value_dim;
  }
  if (softmax) plan.over_keys = shape.batch * shape.heads * shape.queries;
  return plan;
}

}  // namespace headway::training
