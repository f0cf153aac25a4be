#include "training/kernels/cuda/attention_large_plan.hpp"

#include <algorithm>

#include "training/kernels/cuda/attention_large_launches.hpp"
#include "training/kernels/cuda/counted_memory.hpp"

namespace headway::training {
namespace {

using emulated_kernels::large_score_floats;
using emulated_kernels::LargeQueryGradient;
using emulated_kernels::LargeTile;

constexpr Index kMostScoreFloats = Index{1} << 26;  // 256 MiB
constexpr Index kFewestQueries = 256;               // of a chunk

bool takes(const AttentionShape& n, const AttentionOptions& options) {
  return n.heads == LargeTile::kHeads && options.value_network == ValueNetwork::kHyla &&
         n.query_dim % 16 == 0 && n.query_dim <= Index{16} * LargeTile::kMostSteps &&
         (n.value_dim == 32 || n.value_dim == 64);
}

// Queries of a launch of the backward pass: all, or as many whole blocks as kMostScoreFloats
// allows, but never fewer than kFewestQueries.
Index chunk_of(const AttentionShape& n) {
  const Index step = Index{LargeTile::kSide} * LargeQueryGradient::kTiles;
  const Index most = kMostScoreFloats / (n.batch * large_score_floats(step, n.keys)) * step;
  return std::min(n.queries, std::max(most, kFewestQueries));
}

// Shared bytes of a pass of the layer, by the text of its kernel.
template <template <int, typename> typename Pass, typename... Gradients>
int shared_bytes(const AttentionShape& n, const AttentionPlanSizes& sizes,
                 const Gradients&... gradients) {
  emulated_kernels::AttentionArguments<Bf16> x = {};
  x.query_dim = static_cast<int>(n.query_dim);
  emulated_kernels::Block block(sizes.threads, 0, 0);
  CountedMemory memory;
  const auto count = [&]<int dims>() {  // phi takes no memory
    static_cast<void>(
        Pass<dims, emulated_kernels::Phi<Nonlinearity::kRelu>>(block, memory, x, gradients...));
  };
  n.value_dim == 64 ? count.template operator()<64>() : count.template operator()<32>();
  return static_cast<int>(memory.bytes());
}

}  // namespace

std::optional<GpuAttentionPlan> plan_large_attention(const AttentionShape& shape,
                                                     const AttentionOptions& options, Index groups,
                                                     const GpuDevice& device) {
  using namespace emulated_kernels;  // NOLINT: the kernels' text
  if (!takes(shape, options)) return std::nullopt;
  const bool softmax = normalises_over_keys(options.normalisation);
  AttentionPlanSizes sizes;
  sizes.threads = 32 * LargeTile::kWarps;
  sizes.heads = LargeTile::kHeads;
  sizes.tile_queries = LargeTile::kSide;
  sizes.tile_keys = LargeTile::kSide;
  sizes.tile_dims = static_cast<int>(shape.value_dim);
  GpuAttentionPlan plan;
  plan.kernel = GpuAttentionKernel::kLarge;
  plan.forward = sizes;
  plan.forward.shared_bytes = shared_bytes<LargeForward>(shape, sizes);
  const GradientArguments<Bf16> gradients = {};
  if (softmax) {
    plan.sums = sizes;
    plan.sums.shared_bytes = shared_bytes<LargeSumsOverKeys>(shape, sizes, gradients);
  }
  plan.backward = sizes;
  plan.backward.shared_bytes = shared_bytes<LargeBackward>(shape, sizes, gradients);
  plan.backward.groups = static_cast<int>(groups);
  plan.backward.key_slices = 1;
  plan.backward.slice_keys = static_cast<int>(shape.keys);
  plan.backward.chunk_queries = static_cast<int>(chunk_of(shape));
  for (const AttentionPlanSizes* one : {&plan.forward, &plan.sums, &plan.backward}) {
    if (one->shared_bytes > device.block_shared_bytes) return std::nullopt;
  }
  plan.over_keys = softmax ? shape.batch * shape.heads * shape.queries : 0;
  plan.over_keys += shape.batch * large_score_floats(plan.backward.chunk_queries, shape.keys);
  if (plan.backward.chunk_queries < shape.queries) {
    plan.over_keys += shape.batch * shape.keys * shape.heads * (shape.query_dim + shape.value_dim);
  }
  return plan;
}

}  // namespace headway::training
