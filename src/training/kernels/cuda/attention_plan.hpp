#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "headway/training/attention_variant.hpp"

// How the fused GPU kernels cut a layer: sizes that fit a device, chosen on the host from the layer
// and the device alone, so that the same device always makes the same sums.
namespace headway::training {

/// How a GPU multiplies two numbers; sums are always float.
enum class GpuArithmetic {
  kFloat32,  ///< arrays of floats, fused multiply-adds
  kTf32,     ///< arrays of floats, tensor cores that round operands to 11 bits
  kBf16,     ///< arrays of bf16 (bias and its gradient, M_h and its gradient: float), tensor cores
};

struct GpuDevice {
  int multiprocessors = 132;
  int block_shared_bytes = 232448;  ///< most of one block; these are an H100's
  int shared_bytes = 233472;        ///< of a multiprocessor
  /// Whether kernels made for a shape take the layers that fit them, in place of the general ones.
  bool kernels_by_shape = false;
};

/// Numbers of an array from one token to the next, and from one example to the next.
struct TokenSteps {
  std::int64_t token = 0;
  std::int64_t example = 0;
};

/// Passed to kernels as it is.
struct AttentionPlanSizes {
  int threads = 0;  ///< of a block
  int heads = 0;    ///< of a block: all, but for a plain network without RMSHead one
  int tile_queries = 0;
  int tile_keys = 0;
  int tile_dims = 0;      ///< of what a value network computes, at a time
  int groups = 0;         ///< runs of examples, each of one block (backward)
  int key_slices = 0;     ///< runs of keys, each of one block (backward)
  int slice_keys = 0;     ///< keys of a slice
  int chunk_queries = 0;  ///< queries of a launch of the backward pass (large kernels)
  int shared_bytes = 0;
};

/// Text of the kernels: attention_forward.hpp, attention_backward.hpp and so on.
enum class GpuAttentionKernel {
  kGeneral,
  kNarrow,  ///< attention_narrow_*.hpp
  kLarge,   ///< attention_large_*.hpp; arrays begin at 16 bytes
};

struct GpuAttentionPlan {
  GpuAttentionKernel kernel = GpuAttentionKernel::kGeneral;
  AttentionPlanSizes forward;
  AttentionPlanSizes sums;  ///< of the sums over keys: softmax only
  AttentionPlanSizes backward;
  // Floats of workspace of the backward pass.
  Index query_sums = 0;   ///< [key slices, B, Sq, H, d]; 0 of kernels made for a shape
  Index bias_sums = 0;    ///< [groups, H, Sq, Sk]; 0 where no gradient of a bias is wanted
  Index mixing_sums = 0;  ///< [groups * key slices, H, dv, dv]; 0 but for hyla_deep
  /// [B, H, Sq], softmax only; behind it what kernels for large layers hand on from launch to
  /// launch
  Index over_keys = 0;
};

/// Nothing if no tile fits the device, or an array of one example passes 2^31 numbers. A tile that
/// fits leaves at most 65,535 tiles of queries. Error{kBadStudy} for a bad shape. Memory is linear
/// in queries and keys, with at most 16 key slices. Copies of the gradients of bias and M_h come on
/// top: at most 256 MiB, or one copy if that is larger. So do the gradients of scores of large
/// kernels: at most 256 MiB, or those of 256 queries an example if that is larger.
std::optional<GpuAttentionPlan> plan_gpu_attention(const AttentionShape& shape,
                                                   const AttentionOptions& options,
                                                   GpuArithmetic arithmetic, bool bias_gradient,
                                                   bool dropout, const GpuDevice& device = {});

}  // namespace headway::training
