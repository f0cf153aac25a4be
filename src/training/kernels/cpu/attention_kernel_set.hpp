#pragma once

#include "training/kernels/cpu/attention_backward_tiles.hpp"
#include "training/kernels/cpu/attention_forward_tiles.hpp"

namespace headway::training::HEADWAY_KERNELS {

/// Tiles whose scores, and keys of one tile, stay in the first cache, or at least in the second.
inline TileLimits tile_limits(const AttentionJob& job) {
  if (job.axis == LaneAxis::kExamples) {
    return is_generated(job.options.value_network) ? TileLimits{4, 4} : TileLimits{4, 8};
  }
  return job.heads == 1 ? TileLimits{4, 32} : TileLimits{2, 8};
}

template <template <LaneAxis> class Tiles, LaneAxis axis>
void run_along(const AttentionJob& job, float* workspace) {
  Arena arena(workspace);
  Tiles<axis>(job, tile_limits(job), &arena).run();
}

template <template <LaneAxis> class Tiles>
void run_tiles(const AttentionJob& job, float* workspace) {
  if (job.axis == LaneAxis::kExamples) {
    run_along<Tiles, LaneAxis::kExamples>(job, workspace);
  } else {
    run_along<Tiles, LaneAxis::kQueries>(job, workspace);
  }
}

template <template <LaneAxis> class Tiles>
Index workspace_floats(const AttentionJob& job) {
  Arena arena(nullptr);
  if (job.axis == LaneAxis::kExamples) {
    Tiles<LaneAxis::kExamples>(job, tile_limits(job), &arena);
  } else {
    Tiles<LaneAxis::kQueries>(job, tile_limits(job), &arena);
  }
  return arena.floats();
}

inline detail::AttentionKernels kernel_set(const char* name) {
  return {name,
          kLanes,
          workspace_floats<ForwardTiles>,
          workspace_floats<BackwardTiles>,
          run_tiles<ForwardTiles>,
          run_tiles<BackwardTiles>};
}

}  // namespace headway::training::HEADWAY_KERNELS
