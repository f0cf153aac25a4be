#pragma once

#include "headway/core/cpu.hpp"
#include "headway/training/attention.hpp"

// What the fused kernels of each instruction set offer to attention_driver.cpp. The kernels are one
// text, compiled once for each set: training/kernels/cpu/lane_vector.hpp tells how.
namespace headway::training::detail {

/// What the lanes of a vector are. A unit is one vector of queries.
enum class LaneAxis {
  kExamples,  ///< lane l is example first_example + l; unit u is query u
  kQueries,   ///< one example; lane l of unit u is query u * lanes + l
};

/// One piece of work of one thread. Pointers are to whole arrays; bias, dropout and their like are
/// prepared as their comments say.
struct AttentionJob {
  AttentionShape shape;
  AttentionOptions options;
  LaneAxis axis = LaneAxis::kExamples;
  Index first_example = 0;
  Index examples = 1;  ///< at most one vector of them; 1 for kQueries
  Index first_head = 0;
  Index heads = 1;       ///< all of them, but for a plain value network without RMSHead
  Index first_unit = 0;  ///< of the forward pass; the backward pass takes all units
  Index units = 1;
  AttentionInputs<float> inputs;
  /// kExamples: as given. kQueries: [H, all units, Sk, lanes] and [all units, Sk, lanes].
  const float* bias = nullptr;
  const float* dropout = nullptr;
  AttentionOutputs<float> outputs;  ///< the backward pass only reads them
  const float* d_output = nullptr;
  AttentionGradients<float> gradients;
  /// Added to: kExamples [H, Sq, Sk], kQueries [H, all units, Sk, lanes]; null: not wanted.
  float* d_bias = nullptr;
  float* d_mixing = nullptr;  ///< added to: [H, dv, dv]
};

struct AttentionKernels {
  const char* name;
  Index lanes;
  /// Floats of workspace (on a boundary of 64 bytes) of a job.
  Index (*forward_workspace)(const AttentionJob&);
  Index (*backward_workspace)(const AttentionJob&);
  void (*forward)(const AttentionJob&, float* workspace);
  void (*backward)(const AttentionJob&, float* workspace);
};

const AttentionKernels& baseline_attention_kernels();
#ifdef HEADWAY_X86_KERNELS
const AttentionKernels& avx2_attention_kernels();
const AttentionKernels& avx512_attention_kernels();
#endif

/// Null where this machine or build lacks the set.
const AttentionKernels* attention_kernels(InstructionSet set);
const AttentionKernels& best_attention_kernels();

/// The axis that costs less, from the shape alone (never from the number of threads).
LaneAxis choose_lane_axis(const AttentionShape& shape, const AttentionOptions& options,
                          Index lanes);

/// attention_forward and attention_backward with everything chosen.
struct AttentionPlan {
  const AttentionKernels* kernels;
  LaneAxis axis;
  int threads;
};
void forward_with(const AttentionPlan& plan, const AttentionShape& shape,
                  const AttentionOptions& options, const AttentionInputs<float>& inputs,
                  const AttentionOutputs<float>& outputs);
void backward_with(const AttentionPlan& plan, const AttentionShape& shape,
                   const AttentionOptions& options, const AttentionInputs<float>& inputs,
                   const AttentionPassedBack<float>& passed,
                   const AttentionGradients<float>& gradients);

std::size_t workspace_bytes(const AttentionPlan& plan, const AttentionShape& shape,
                            const AttentionOptions& options, bool with_bias, bool with_dropout);

}  // namespace headway::training::detail
