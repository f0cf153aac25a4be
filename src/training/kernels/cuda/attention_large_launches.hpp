#pragma once

#include <utility>

#include "headway/error.hpp"
#include "training/kernels/cuda/attention_large_backward.hpp"
#include "training/kernels/cuda/attention_large_forward.hpp"
#include "training/kernels/cuda/attention_large_queries.hpp"
#include "training/kernels/cuda/attention_large_sums.hpp"

// The kernels for large layers as functions of a block, and their launches.
namespace headway::training::HEADWAY_GPU {

template <int dims, typename Phi>
struct LargeForwardKernel {
  AttentionArguments<Bf16> x;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    LargeForward<dims, Phi>(block, memory, x).run();
  }
};

template <int dims, typename Phi>
struct LargeSumsKernel {
  AttentionArguments<Bf16> x;
  GradientArguments<Bf16> gradients;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    LargeSumsOverKeys<dims, Phi>(block, memory, x, gradients).run();
  }
};

template <int dims, typename Phi>
struct LargeBackwardKernel {
  AttentionArguments<Bf16> x;
  GradientArguments<Bf16> gradients;
  QueryChunk chunk;
  LargeWorkspace work;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    LargeBackward<dims, Phi>(block, memory, x, gradients).run(chunk, work);
  }
};

struct LargeQueriesKernel {
  AttentionArguments<Bf16> x;
  GradientArguments<Bf16> gradients;
  QueryChunk chunk;
  Global<const float> scores;
  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    LargeQueryGradient(block, memory, x, gradients).run(chunk, scores);
  }
};

/// work.template operator()<dims, Phi>() with the layer's dims of values and its phi.
template <typename Work>
void with_large_kind(std::int64_t value_dim, Nonlinearity nonlinearity, const Work& work) {
  with_phi(nonlinearity, [&]<typename Phi>() {
    if (value_dim == 64) return work.template operator()<64, Phi>();
    work.template operator()<32, Phi>();
  });
}

/// Error{kInternal} where rows of queries, keys or values do not begin at multiples of 16 bytes.
inline void check_large_rows(const AttentionArguments<Bf16>& x) {
  for (const TokenSteps& steps : {x.query_steps, x.key_steps, x.value_steps}) {
    if (steps.token % 8 == 0 && steps.example % 8 == 0) continue;
    throw Error(ErrorKind::kInternal, "attention of a large layer: rows off the grid of 16 bytes");
  }
}

// Grids lie along x alone: a device takes 2^31 - 1 blocks there, and 65,535 along y.

template <typename Device>
void launch_large_forward(Device& device, const GpuAttentionPlan& plan,
                          AttentionArguments<Bf16> x) {
  check_large_rows(x);
  x.plan = plan.forward;
  const int blocks = x.batch * ceiling(x.queries, LargeTile::kSide);
  with_large_kind(x.value_dim, x.options.nonlinearity, [&]<int dims, typename Phi>() {
    device.launch({blocks, 1, x.plan.threads, x.plan.shared_bytes},
                  LargeForwardKernel<dims, Phi>{x});
  });
}

/// Floats for the gradients of scores of so many queries of an example.
inline std::int64_t large_score_floats(std::int64_t queries, std::int64_t keys) {
  constexpr int kTileFloats = LargeTile::kSide * LargeTile::kSide * LargeTile::kHeads / 2;
  const auto tiles = [](std::int64_t n) { return (n + LargeTile::kSide - 1) / LargeTile::kSide; };
  return tiles(queries) * tiles(keys) * kTileFloats;
}

/// The sums over keys where softmax needs them; then, of each chunk of queries, the gradients of
/// keys and values, and those of queries, which go to gradients.query, or where that is null to
/// query_sums. Copies of the gradient of the bias are left for the caller to sum.
template <typename Device>
void launch_large_backward(Device& device, const GpuAttentionPlan& plan, AttentionArguments<Bf16> x,
                           GradientArguments<Bf16> gradients) {
  check_large_rows(x);
  const std::int64_t query_row = static_cast<std::int64_t>(x.heads) * x.query_dim;
  if (gradients.query_sum_steps.token == 0) {
    gradients.query_sum_steps = {query_row, query_row * x.queries};
  }
  Global<float> free = gradients.over_keys;
  const auto take = [&](std::int64_t floats) { return std::exchange(free, free + floats); };
  if (x.options.normalisation == Normalisation::kSoftmax) {
    take(static_cast<std::int64_t>(x.batch) * x.heads * x.queries);
    x.plan = plan.sums;
    const int blocks = x.batch * ceiling(x.queries, LargeTile::kSide);
    with_large_kind(x.value_dim, x.options.nonlinearity, [&]<int dims, typename Phi>() {
      device.launch({blocks, 1, x.plan.threads, x.plan.shared_bytes},
                    LargeSumsKernel<dims, Phi>{x, gradients});
    });
    gradients.known_over_keys = gradients.over_keys;
  }
  x.plan = plan.backward;
  const int most = x.plan.chunk_queries;
  LargeWorkspace work = {};
  work.scores = take(x.batch * large_score_floats(most, x.keys));
  if (most < x.queries) {
    work.keys = take(x.batch * query_row * x.keys);
    work.values = free;
  }
  for (int first = 0; first < x.queries; first += most) {
    const QueryChunk chunk = {first, first + most < x.queries ? first + most : x.queries};
    with_large_kind(x.value_dim, x.options.nonlinearity, [&]<int dims, typename Phi>() {
      device.launch({x.plan.groups * ceiling(x.keys, LargeTile::kSide), 1, x.plan.threads,
                     x.plan.shared_bytes},
                    LargeBackwardKernel<dims, Phi>{x, gradients, chunk, work});
    });
    constexpr int kSide = LargeTile::kSide * LargeQueryGradient::kTiles;
    device.launch({x.batch * ceiling(chunk.end - chunk.first, kSide), 1, x.plan.threads,
                   LargeQueryGradient::shared_bytes(x.query_dim)},
                  LargeQueriesKernel{x, gradients, chunk, Global<const float>(work.scores)});
  }
}

}  // namespace headway::training::HEADWAY_GPU
