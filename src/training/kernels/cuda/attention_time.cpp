#include "training/kernels/cuda/attention_time.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "training/kernels/cuda/attention_narrow_launches.hpp"

namespace headway::training {
namespace {

using emulated_kernels::ceiling;

// Of a multiprocessor, in a cycle.
constexpr double kInstructions = 4.0;   // of warps
constexpr double kSharedBytes = 128.0;  // read or exchanged
constexpr double kHertz = 1.755e9;
constexpr double kMemoryBytes = 3.35e12;   // of the device, in a second
constexpr double kLaunchSeconds = 1.5e-6;  // within a graph
constexpr int kRegisters = 65536;
constexpr int kBlockOverhead = 1024;  // bytes that the driver keeps of each block
constexpr int kFloat = 4;

double as_double(Index n) { return static_cast<double>(n); }

// Registers of a thread: what ptxas gives at most.
int blocks_at_once(const AttentionPlanSizes& sizes, int registers, const GpuDevice& device) {
  const int by_memory = device.shared_bytes / (sizes.shared_bytes + kBlockOverhead);
  const int by_registers = kRegisters / (registers * std::max(sizes.threads, 1));
  return std::max(1, std::min(by_memory, by_registers));
}

// Instructions of a lane: to load and store, and for a pair beside its multiply-adds. A block waits
// so long for what it loads. All three are rough: on an H200 the passes of SRAVEN and fuzzy logic
// take 1.3 to 2.6 times what comes of them.
constexpr double kNarrowLoading = 1500.0;
constexpr double kNarrowPair = 150.0;
constexpr double kNarrowLatency = 8000.0;  // cycles

GpuAttentionTime narrow_time(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                             GpuAttentionPass pass, const GpuDevice& device) {
  const AttentionShape& n = layer.shape;
  const bool backward = pass == GpuAttentionPass::kBackward;
  const AttentionPlanSizes& sizes = backward ? plan.backward : plan.forward;
  const auto p = emulated_kernels::narrow_padding(n.heads, std::max(n.query_dim, n.value_dim));
  const bool generated = is_generated(layer.options.value_network);
  const double row = p.heads * p.dims;
  const int queries = static_cast<int>(n.queries);
  const int keys = static_cast<int>(n.keys);
  const double tiles = backward ? 1.0 : ceiling(queries, sizes.tile_queries);
  const double blocks = as_double(n.batch) * tiles;
  const double warps = sizes.threads / 32.0;
  // Of a pair: rows that are multiplied. Softmax goes over the pairs once before.
  const bool again = normalises_over_keys(layer.options.normalisation) && !backward;
  const double rows =
      (backward ? (generated ? 8.0 : 5.0) : (generated ? 3.0 : 2.0)) + (again ? 1.0 : 0.0);
  const double pairs = as_double(n.batch * n.queries * n.keys);

  GpuAttentionTime t;
  t.launches = backward && plan.bias_sums > 0 ? 2 : 1;
  t.flops = 2.0 * pairs * rows * row;
  const double read = backward ? 5.0 : 3.0;  // rows of a pair, from shared memory
  t.shared_bytes = kFloat * (pairs * read * row + 2.0 * blocks * row * (queries + keys));
  const double number = layer.arithmetic == GpuArithmetic::kBf16 ? 2.0 : 4.0;
  const double tokens = as_double(n.batch) * (tiles * keys + queries);
  t.global_bytes = number * 2.0 * tokens * row * (backward ? 2.0 : 1.0) +
                   2.0 * kFloat * as_double(backward ? plan.bias_sums : 0);
  const int beside = blocks_at_once(sizes, 168, device);
  t.warps = beside * warps;
  const double waves = std::ceil(blocks / (static_cast<double>(device.multiprocessors) * beside));
  const double resident = std::min(t.warps, std::ceil(blocks / device.multiprocessors) * warps);
  const double of_lane =
      std::ceil(ceiling(queries * keys, emulated_kernels::kNarrowSlices * 4) / (warps * tiles));
  const double issued = kNarrowLoading + of_lane * (rows * row + kNarrowPair);
  const double cycles = waves * (kNarrowLatency + resident * issued / kInstructions);
  t.ms = 1e3 *
         (std::max(cycles / kHertz, t.global_bytes / kMemoryBytes) + t.launches * kLaunchSeconds);
  return t;
}

// --- the general kernels ------------------------------------------------------------------------

// A product of a block (tile_product.hpp), which ends with a barrier.
struct TileProduct {
  double batches, rows, columns, inner;
};

std::vector<TileProduct> products_of_tile(const GpuAttentionLayer& layer,
                                          const AttentionPlanSizes& sizes, GpuAttentionPass pass) {
  const double heads = sizes.heads;
  const double queries = sizes.tile_queries;
  const double keys = sizes.tile_keys;
  const double d = as_double(layer.shape.query_dim);
  const double dv = as_double(layer.shape.value_dim);
  const bool backward = pass == GpuAttentionPass::kBackward;
  const bool softmax = normalises_over_keys(layer.options.normalisation);
  std::vector<TileProduct> list = {{heads, queries, keys, d}};          // scores
  if (softmax && !backward) list.push_back({heads, queries, keys, d});  // for the log sums
  if (backward) {
    list.push_back({heads, keys, d, queries});  // gradients of keys and queries
    list.push_back({heads, queries, d, keys});
  }
  if (!is_generated(layer.options.value_network)) {
    list.push_back({heads, queries, backward ? keys : dv, backward ? dv : keys});
    if (backward) list.push_back({heads, keys, dv, queries});
    return list;
  }
  const double dims = sizes.tile_dims;
  for (double dim = 0.0; dim < dv; dim += dims) {
    list.push_back({keys, queries, dims, heads});  // u
    if (!backward) {
      list.push_back({queries, dims, heads, keys});
      continue;
    }
    list.push_back({queries, keys, heads, dims});
    list.push_back({queries, keys, dims, heads});
    list.push_back({keys, queries, heads, dims});
    list.push_back({keys, dims, heads, queries});
  }
  const int mixes = has_mixing(layer.options.value_network) ? (backward ? 3 : 1) : 0;
  for (int i = 0; i < mixes; ++i) list.push_back({heads, queries * keys, dv, dv});
  return list;
}

// Rounds of a block's warps through a product, a warp's instructions in one, and bytes of shared
// memory. The numbers of instructions are read off the code: operands with their addresses, bounds
// and rounding, multiply-adds, and sums with theirs.
struct ProductTime {
  double rounds, instructions, bytes;
};
ProductTime time_of(const TileProduct& n, GpuArithmetic arithmetic, int threads) {
  const auto up = [](double a, double b) { return std::ceil(a / b); };
  constexpr double kSetUp = 40.0;
  if (arithmetic == GpuArithmetic::kFloat32) {
    const double tiles = n.batches * up(n.rows, 4.0) * up(n.columns, 4.0);
    return {up(tiles, threads), kSetUp + 32.0 * n.inner + 16.0 * 12.0,
            kFloat * tiles * (8.0 * n.inner + 32.0)};
  }
  const bool half = arithmetic == GpuArithmetic::kBf16;
  const double steps = up(n.inner, half ? 16.0 : 8.0);
  const double operands = half ? 24.0 : 12.0;  // of a lane in a step, of a tile of 32 x 16
  const double tiles = n.batches * up(n.rows, 32.0) * up(n.columns, 16.0);
  return {up(tiles, threads / 32.0), kSetUp + steps * operands * (half ? 6.0 : 7.0) + 16.0 * 15.0,
          tiles * 32.0 * (steps * operands * (half ? 2.0 : 4.0) + 32.0 * kFloat)};
}

GpuAttentionTime general_time(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                              GpuAttentionPass pass, const GpuDevice& device) {
  const AttentionShape& n = layer.shape;
  const bool backward = pass == GpuAttentionPass::kBackward;
  const AttentionPlanSizes& sizes = backward ? plan.backward : plan.forward;
  const int queries = static_cast<int>(n.queries);
  const int keys = static_cast<int>(n.keys);
  const double query_tiles = ceiling(queries, sizes.tile_queries);
  const double key_tiles = ceiling(keys, sizes.tile_keys);
  const double slices = backward ? sizes.key_slices : 1.0;
  const double runs = as_double(n.heads) / sizes.heads;
  const double blocks =
      runs * (backward ? sizes.groups * slices : as_double(n.batch) * query_tiles);
  // Tiles that a causal mask hides are left out.
  const double seen =
      as_double(n.visible_pairs(layer.options.causal)) / as_double(n.queries * n.keys);
  const double all_tiles = as_double(n.batch) * runs * query_tiles * key_tiles *
                           std::min(1.0, seen + 0.5 / std::max(query_tiles, key_tiles));
  const int beside = blocks_at_once(sizes, 128, device);
  const double warps = sizes.threads / 32.0;
  const double at_once =
      std::min(static_cast<double>(beside), std::ceil(blocks / device.multiprocessors));

  GpuAttentionTime t;
  t.warps = beside * warps;
  t.launches = backward ? 2 + (plan.over_keys > 0 ? 1 : 0) + (plan.bias_sums > 0 ? 1 : 0) +
                              (plan.mixing_sums > 0 ? 1 : 0)
                        : 1;
  constexpr double kLatency = 800.0;  // cycles of a phase of a block by itself
  double cycles = 0.0;                // of a tile, while others run beside it
  const auto phase = [&](double rounds, double instructions) {
    cycles += std::max(kLatency, rounds * instructions * warps * at_once / kInstructions);
  };
  for (const TileProduct& one : products_of_tile(layer, sizes, pass)) {
    const ProductTime p = time_of(one, layer.arithmetic, sizes.threads);
    t.flops += 2.0 * all_tiles * one.batches * one.rows * one.columns * one.inner;
    t.shared_bytes += all_tiles * p.bytes;
    phase(p.rounds, p.instructions);
  }
  const double pairs = sizes.tile_queries * sizes.tile_keys;
  for (int i = 0; i < (backward ? 2 : 1); ++i) {  // weights, gradients of scores
    phase(std::ceil(pairs / sizes.threads), 40.0 + 12.0 * sizes.heads);
  }
  const double row = sizes.heads * as_double(n.query_dim + n.value_dim);
  for (int i = 0; i < (backward ? 4 : 3); ++i) {  // rows that are loaded, cleared, stored
    phase(std::ceil(sizes.tile_keys * row / 2.0 / sizes.threads), 20.0);
  }
  const double number = layer.arithmetic == GpuArithmetic::kBf16 ? 2.0 : 4.0;
  t.global_bytes =
      number * all_tiles * row * (sizes.tile_keys + (backward ? 2.0 * sizes.tile_queries : 0.0)) +
      2.0 * kFloat * as_double(backward ? plan.query_sums + plan.bias_sums + plan.mixing_sums : 0);
  const double waves = std::ceil(blocks / (static_cast<double>(device.multiprocessors) * beside));
  const double seconds = waves * cycles * (all_tiles / blocks) / kHertz;
  t.ms = 1e3 * (std::max(seconds, t.global_bytes / kMemoryBytes) + t.launches * kLaunchSeconds);
  return t;
}

// --- large layers -------------------------------------------------------------------------------

constexpr double kCachedBytes = 5.5e12;  // of the second cache, in a second

// What the launches of one kernel for large layers do with a pair or a tile of pairs.
struct LargeWork {
  std::vector<double> instructions;  // of a warp in a tile: a number for each step with its barrier
  double tile_pairs;
  double multiply_adds, shared_bytes, cached_bytes, memory_bytes;  // of a pair
  const AttentionPlanSizes* sizes;
};

// The forward pass. Of a pair: phi(u), weights and scores, written and read, operands, and keys and
// values on their way.
LargeWork large_forward(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan) {
  const double d = as_double(layer.shape.query_dim);
  const double dv = as_double(layer.shape.value_dim);
  const double heads = as_double(layer.shape.heads);
  const bool softmax = normalises_over_keys(layer.options.normalisation);
  LargeWork w = {{16.0 * d / 16.0 + 40.0, 110.0, 1.6 * dv, 0.6 * dv},
                 256.0,
                 heads * ((softmax ? 2.0 : 1.0) * d + 2.0 * dv),
                 4.0 * dv + heads * 16.0 + 2.0 * (d + dv),
                 d + dv,
                 0.0,
                 &plan.forward};
  if (softmax) w.instructions.push_back(14.0 * d / 16.0 + 240.0);
  return w;
}

// The tiles of LargeGradient up to d_b, and with them those of LargeSumsOverKeys. Of a pair: d_z
// and z, each written and read; scores, weights and d_b; operands of six products; queries and
// d_output on their way.
LargeWork large_gradient(const GpuAttentionLayer& layer, const AttentionPlanSizes& sizes) {
  const double d = as_double(layer.shape.query_dim);
  const double dv = as_double(layer.shape.value_dim);
  const double copies = 8.0 * (d + dv) / 16.0;
  return {
      {copies, 20.0 * d / 16.0 + 40.0, 150.0, 1.5 * dv + 16.0, 6.0 * dv + 32.0, 0.5 * dv + 46.0},
      256.0,
      as_double(layer.shape.heads) * (d + 4.0 * dv),
      2.0 * d + 13.0 * dv + 260.0,
      2.0 * d + dv,
      0.0,
      &sizes};
}

// LargeBackward: also gradients of scores, left in memory, and of keys and values.
LargeWork large_backward(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan) {
  LargeWork w = large_gradient(layer, plan.backward);
  const double d = as_double(layer.shape.query_dim);
  const double heads = as_double(layer.shape.heads);
  w.instructions.push_back(200.0);
  w.instructions.push_back(8.0 * d / 16.0 + 40.0);
  w.multiply_adds += heads * (d + as_double(layer.shape.value_dim));
  w.shared_bytes += d + 14.5 * heads;
  w.memory_bytes = 2.0 * heads + (plan.bias_sums > 0 ? 4.0 * heads : 0.0);
  return w;
}

// LargeQueryGradient: keys on their way and as operands, and gradients of scores from memory.
LargeWork large_queries(const GpuAttentionLayer& layer, const AttentionPlanSizes& sizes) {
  const double d = as_double(layer.shape.query_dim);
  const double heads = as_double(layer.shape.heads);
  return {{28.0 + 20.0 * d / 16.0 + 12.0 * d / 16.0},
          512.0,
          heads * d,
          d,
          0.5 * d + 2.0 * heads,
          2.0 * heads,
          &sizes};
}

// Adds the launches of a kernel to a pass.
void add_large(const GpuAttentionLayer& layer, const LargeWork& w, const GpuDevice& device,
               GpuAttentionTime* t) {
  const AttentionShape& n = layer.shape;
  const double side = 16.0;
  const double seen =
      as_double(n.visible_pairs(layer.options.causal)) / as_double(n.queries * n.keys);
  const double keys = side * std::ceil(as_double(n.keys) / side);
  const double queries = side * std::ceil(as_double(n.queries) / side);
  const double pairs =
      as_double(n.batch) * queries * keys * std::min(1.0, seen + 0.5 * side / keys);
  const int beside = blocks_at_once(*w.sizes, 128, device);
  const double warps = w.sizes->threads / 32.0;
  // Few blocks leave multiprocessors idle, or with one block each.
  const double blocks = as_double(n.batch) * std::min(queries, keys) / side;
  const double at_once = std::min(static_cast<double>(beside) * device.multiprocessors, blocks);
  const double resident = std::max(1.0, at_once / device.multiprocessors);
  constexpr double kLatency = 300.0;  // cycles of a step of a block by itself
  double cycles = 0.0;                // of a tile, while others run beside it
  for (const double one : w.instructions) {
    cycles += std::max(kLatency, one * warps * resident / kInstructions);
  }
  const double seconds =
      std::max({pairs / w.tile_pairs * cycles / at_once / kHertz,
                pairs * w.shared_bytes / (device.multiprocessors * kSharedBytes) / kHertz,
                pairs * w.cached_bytes / kCachedBytes, pairs * w.memory_bytes / kMemoryBytes});
  t->launches += 1;
  t->flops += 2.0 * pairs * w.multiply_adds;
  t->shared_bytes += pairs * w.shared_bytes;
  t->global_bytes += pairs * (w.cached_bytes + w.memory_bytes);
  t->warps = std::max(t->warps, beside * warps);
  t->ms += 1e3 * (seconds + kLaunchSeconds);
}

GpuAttentionTime large_time(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                            GpuAttentionPass pass, const GpuDevice& device) {
  GpuAttentionTime t;
  if (pass == GpuAttentionPass::kForward) {
    add_large(layer, large_forward(layer, plan), device, &t);
    return t;
  }
  if (normalises_over_keys(layer.options.normalisation)) {
    add_large(layer, large_gradient(layer, plan.sums), device, &t);
  }
  add_large(layer, large_backward(layer, plan), device, &t);
  add_large(layer, large_queries(layer, plan.backward), device, &t);
  const int chunks = ceiling(static_cast<int>(layer.shape.queries), plan.backward.chunk_queries);
  t.launches += 2 * (chunks - 1) + (plan.bias_sums > 0 ? 1 : 0);
  t.ms += 1e3 * kLaunchSeconds * (2 * (chunks - 1) + (plan.bias_sums > 0 ? 1 : 0));
  return t;
}

}  // namespace

GpuAttentionTime gpu_attention_time(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                                    GpuAttentionPass pass, const GpuDevice& device) {
  if (plan.kernel == GpuAttentionKernel::kLarge) return large_time(layer, plan, pass, device);
  return plan.kernel == GpuAttentionKernel::kNarrow ? narrow_time(layer, plan, pass, device)
                                                    : general_time(layer, plan, pass, device);
}

}  // namespace headway::training
