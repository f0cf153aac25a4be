#include "training/kernels/cuda/attention_time.hpp"

#include <algorithm>
#include <cmath>

#include "training/kernels/cuda/attention_small_launches.hpp"

namespace headway::training {
namespace {

using emulated_kernels::ceiling;
using emulated_kernels::kSmallRow;
using emulated_kernels::small_padding;
using emulated_kernels::SmallPadding;

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

// What a lane does for one pair.
struct PairWork {
  double multiply_adds = 0.0;
  double exchanges = 0.0;
  double others = 0.0;   // instructions: addresses, weights, the nonlinearity
  double latency = 0.0;  // cycles from the first instruction to the last
};

PairWork small_pair(const GpuAttentionLayer& layer, GpuAttentionPass pass) {
  const AttentionShape& n = layer.shape;
  const SmallPadding p = small_padding(n.heads, std::max(n.query_dim, n.value_dim));
  const bool backward = pass == GpuAttentionPass::kBackward;
  const bool generated = is_generated(layer.options.value_network);
  const double own = kSmallRow / p.dims;
  const double lanes = p.heads / own;
  PairWork w;
  const double rows = backward ? (generated ? 6.5 : 3.5) : (generated ? 3.0 : 2.0);
  w.multiply_adds = rows * kSmallRow;
  const double sweeps = backward ? 2.0 : 1.0;
  if (generated) w.exchanges += sweeps * (p.heads - own);
  if (normalises_over_heads(layer.options.normalisation)) w.exchanges += sweeps * std::log2(lanes);
  w.others = sweeps * (40.0 + 8.0 * own + (generated ? 10.0 * kSmallRow / p.heads : 0.0));
  w.latency = sweeps * (generated ? 350.0 : 200.0);
  if (normalises_over_keys(layer.options.normalisation) && !backward) {  // the sweep before
    w.multiply_adds += kSmallRow;
    w.others += 40.0 + 16.0 * own;
    w.latency += 250.0;
  }
  return w;
}

GpuAttentionTime small_time(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                            GpuAttentionPass pass, const GpuDevice& device) {
  const AttentionShape& n = layer.shape;
  const bool backward = pass == GpuAttentionPass::kBackward;
  const AttentionPlanSizes& sizes = backward ? plan.backward : plan.forward;
  const SmallPadding p = small_padding(n.heads, std::max(n.query_dim, n.value_dim));
  const PairWork w = small_pair(layer, pass);
  const int queries = static_cast<int>(n.queries);
  const int keys = static_cast<int>(n.keys);
  const double tiles =
      ceiling(queries, sizes.tile_queries) + (backward ? ceiling(keys, sizes.tile_queries) : 0);
  const double blocks = as_double(n.batch) * tiles;
  const double steps = ceiling(std::max(queries, keys), sizes.token_lanes);
  const double warps_of_block = sizes.threads / 32;
  const bool again = backward && plan.over_keys > 0;

  GpuAttentionTime t;
  t.launches = 1 + (again ? 1 : 0) + (plan.bias_sums > 0 && backward ? 1 : 0);
  const double lane_steps = blocks * warps_of_block * 32.0 * steps * (again ? 1.5 : 1.0);
  t.flops = 2.0 * lane_steps * w.multiply_adds;
  const double loaded = 2.0 * p.heads * p.dims * std::max(queries, keys);  // numbers of a block
  t.shared_bytes = kFloat * (lane_steps * (2.0 * kSmallRow + 1.0 + w.exchanges) + blocks * loaded);
  const double number = layer.arithmetic == GpuArithmetic::kBf16 ? 2.0 : 4.0;
  const double rows =
      as_double(n.batch * n.heads * n.queries) * as_double(n.query_dim + n.value_dim);
  t.global_bytes = number * (blocks * loaded + rows * (backward ? 3.0 : 1.0)) +
                   2.0 * kFloat * as_double(backward ? plan.bias_sums : 0);
  const int beside = blocks_at_once(sizes, backward ? 168 : 128, device);
  t.warps = beside * warps_of_block;

  const double issued =
      (w.multiply_adds + w.exchanges + w.others + 2.0 * kSmallRow / 4) / kInstructions;
  const double exchanged = kFloat * 32.0 * (2.0 * kSmallRow + 1.0 + w.exchanges) / kSharedBytes;
  const double of_loading = 1500.0 + 20.0 * loaded / (32.0 * kInstructions) * beside;
  const double waves = std::ceil(blocks / (static_cast<double>(device.multiprocessors) * beside));
  const double resident =
      std::min(t.warps, std::ceil(blocks / device.multiprocessors) * warps_of_block);
  const double step = std::max(w.latency, resident * std::max(issued, exchanged));
  const double cycles = waves * (of_loading + steps * step * (again ? 1.5 : 1.0));
  t.ms = 1e3 *
         (std::max(cycles / kHertz, t.global_bytes / kMemoryBytes) + t.launches * kLaunchSeconds);
  return t;
}

// The general kernels: products of tiles whose operands come out of shared memory, 4 x 4 sums a
// thread or 32 x 16 a warp, and whose sums go back to it.
GpuAttentionTime general_time(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                              GpuAttentionPass pass, const GpuDevice& device) {
  const AttentionShape& n = layer.shape;
  const bool backward = pass == GpuAttentionPass::kBackward;
  const AttentionPlanSizes& sizes = backward ? plan.backward : plan.forward;
  const MultiplyAdds count = count_multiply_adds(n, layer.options);
  const double pairs = as_double(n.batch * n.visible_pairs(layer.options.causal));
  const double work = backward ? count.backward + count.recomputed : count.forward;

  GpuAttentionTime t;
  t.launches = backward ? 2 + (plan.over_keys > 0 ? 1 : 0) + (plan.bias_sums > 0 ? 1 : 0) +
                              (plan.mixing_sums > 0 ? 1 : 0)
                        : 1;
  t.flops = 2.0 * work;
  const bool cores = layer.arithmetic != GpuArithmetic::kFloat32;
  const double number = layer.arithmetic == GpuArithmetic::kBf16 ? 2.0 : 4.0;
  // Numbers read for a multiply-add, and of a pair: scores, weights and what the network makes.
  const double read = cores ? 1.0 / 16 + 1.0 / 32 : 0.5;
  const double heads = as_double(n.heads);
  const double dims = is_generated(layer.options.value_network) ? as_double(n.value_dim) : 0.0;
  const double of_pair = (backward ? 3.0 : 2.0) * (3.0 * heads * kFloat + 2.0 * dims * number);
  t.shared_bytes = work * read * (cores ? number : kFloat) + pairs * of_pair;
  const double tiles =
      backward ? sizes.key_slices : ceiling(static_cast<int>(n.queries), sizes.tile_queries);
  const double row = as_double(n.heads * (n.query_dim + n.value_dim)) * as_double(n.batch);
  t.global_bytes =
      number * row * (as_double(n.queries) * (backward ? 3.0 : 1.0) + tiles * as_double(n.keys)) +
      2.0 * kFloat * as_double(backward ? plan.query_sums + plan.bias_sums + plan.mixing_sums : 0);
  const int beside = blocks_at_once(sizes, 128, device);
  t.warps = beside * sizes.threads / 32.0;
  // A thread's instructions for a multiply-add of the two products: operands, their addresses and
  // rounding, and the sum.
  const double instructions = cores ? 10.0 / 512 : 2.0;
  const double lanes = device.multiprocessors * kInstructions * 32.0;
  const double seconds = std::max({work * instructions / lanes, work / lanes,
                                   t.shared_bytes / (device.multiprocessors * kSharedBytes)}) /
                         kHertz;
  t.ms = 1e3 * (std::max(seconds, t.global_bytes / kMemoryBytes) + t.launches * kLaunchSeconds);
  return t;
}

}  // namespace

GpuAttentionTime gpu_attention_time(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                                    GpuAttentionPass pass, const GpuDevice& device) {
  return plan.kernel == GpuAttentionKernel::kSmall ? small_time(layer, plan, pass, device)
                                                   : general_time(layer, plan, pass, device);
}

}  // namespace headway::training
