#pragma once

#include <cstdint>

#include "training/kernels/cuda/attention_plan.hpp"

// Fused attention on a GPU: the interface of the CUDA part, in plain C++. All pointers are to the
// device's memory; arrays are laid out as headway/training/attention.hpp says. `Number` stands for
// what the arithmetic says arrays are made of, float or bf16.
namespace headway::training {

/// The dropout factor of pairs: an array, or drawn in the kernels from the stream (seed, kDropout,
/// *index), element (first_row + query) * columns + first_column + key: the same bits as Rng's
/// uniform() < rate.
struct GpuDropout {
  const float* given = nullptr;          ///< [Sq, Sk]; or null
  const std::uint64_t* index = nullptr;  ///< null: nothing is drawn
  std::uint64_t seed = 0;
  double rate = 0.0;
  Index columns = 0;
  Index first_row = 0, first_column = 0;
};

/// A stack of runs is a layer of the examples of all: those of the first run, then of the second.
/// Each run has a bias, mixing matrices and dropout that is given, so many numbers after that of
/// the run before. The plan is that of one run, for `runs` times as many examples and groups.
struct GpuStack {
  Index runs = 1;
  Index bias = 0, mixing = 0, dropout = 0;
};

struct GpuAttentionInputs {
  const void* query = nullptr;             ///< Number [B, Sq, H, d]
  const void* key = nullptr;               ///< Number [B, Sk, H, d]
  const void* value = nullptr;             ///< Number [B, Sk, H, dv]
  const float* bias = nullptr;             ///< [H, Sq, Sk], or null
  const std::uint8_t* key_mask = nullptr;  ///< [B, Sk], or null
  const float* mixing = nullptr;           ///< [H, dv, dv]; hyla_deep only
  GpuDropout dropout;
  /// Of the arrays above and their gradients, where they are not dense: parts of longer rows.
  TokenSteps query_steps, key_steps, value_steps;
  /// Where there are several runs, sums over copies are left in the workspace.
  GpuStack stack;
};

struct GpuAttentionOutputs {
  void* output = nullptr;        ///< Number [B, Sq, H, dv]
  float* log_sum_exp = nullptr;  ///< [B, H, Sq]; softmax only
};

/// A sum over copies that is null, though a workspace for it is there, is left in the workspace:
/// the caller adds up the copies. The gradient of queries is at query_steps where there is one key
/// slice, else dense.
struct GpuAttentionGradients {
  void* query = nullptr;    ///< Number
  void* key = nullptr;      ///< Number
  void* value = nullptr;    ///< Number
  float* bias = nullptr;    ///< null: not wanted
  float* mixing = nullptr;  ///< hyla_deep only
  /// Workspace of the plan's sizes. What it holds before the call does not matter.
  float* query_sums = nullptr;
  float* bias_sums = nullptr;
  float* mixing_sums = nullptr;
  float* over_keys = nullptr;
  TokenSteps query_sum_steps;  ///< where `query_sums` is not dense: one key slice alone
};

/// What the forward pass returned, and the gradient of its output: Number [B, Sq, H, dv].
struct GpuAttentionPassedBack {
  GpuAttentionOutputs outputs;
  const void* d_output = nullptr;
};

struct GpuAttentionLayer {
  AttentionShape shape;
  AttentionOptions options;
  GpuArithmetic arithmetic = GpuArithmetic::kFloat32;
};

/// What plan_gpu_attention asks of device number `device`; Error{kUnavailable} where there is none.
GpuDevice gpu_device(int device);

/// Launches the pass on `stream` (a cudaStream_t) and does not wait: fit for a CUDA graph. The plan
/// is that of the layer with the gradient of the bias and dropout as they are here. The same bits
/// come out every time on the same kind of device. Error{kInternal} where CUDA refuses the launch.
void gpu_attention_forward(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                           const GpuAttentionInputs& inputs, const GpuAttentionOutputs& outputs,
                           void* stream);

void gpu_attention_backward(const GpuAttentionLayer& layer, const GpuAttentionPlan& plan,
                            const GpuAttentionInputs& inputs, const GpuAttentionPassedBack& passed,
                            const GpuAttentionGradients& gradients, void* stream);

}  // namespace headway::training
