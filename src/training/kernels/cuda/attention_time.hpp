#pragma once

#include "training/kernels/cuda/gpu_attention.hpp"

// A model of how long the attention kernels of a layer take, from what they do: arithmetic,
// memory, launches, and how many warps a multiprocessor holds. Numbers of an H100 (SXM) but for
// what GpuDevice says. The model ranks plans, and stands beside measured times.
namespace headway::training {

enum class GpuAttentionPass { kForward, kBackward };

struct GpuAttentionTime {
  int launches = 0;
  double flops = 0.0;         ///< with what is padded and computed again
  double shared_bytes = 0.0;  ///< through shared memory, shuffles included
  double global_bytes = 0.0;  ///< each array once for each block that reads it
  double warps = 0.0;         ///< that a multiprocessor holds at once
  double ms = 0.0;
};

/// Of the larger part of the pass: small sums of copies count as their bytes and launches.
GpuAttentionTime gpu_attention_time(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                                    GpuAttentionPass pass, const GpuDevice& device);

}  // namespace headway::training
