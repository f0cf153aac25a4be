// How much memory a hand-written step of a stack of runs takes, and how many runs a device holds.
#pragma once

#include "training/step/fused_step.hpp"

namespace headway::training::detail {

/// Bytes of all arrays of a step, counted by writing its list for a device that only counts: those
/// of StepArrays (parameters, gradients, both moments, examples, dropout), and what the step takes
/// itself (activations, their gradients, partial sums, workspace of attention). Error{kInternal}
/// where FusedStep::obstacle() says something.
double step_bytes(const EngineSetup& setup, const StepBatchShape& batch, const GpuDevice& device);

/// How many of `shape.batch.runs` such runs fit `free_bytes` of a device at once: those that take
/// nine tenths at most. The rest is for libraries. A run takes its arrays of the step, and as much
/// again for an evaluation of as many examples, which in truth keeps less: one layer at a time. All
/// runs may evaluate at once. At least one, which may fail to fit.
Index runs_that_fit(const EngineSetup& setup, const StackShape& shape, const GpuDevice& device,
                    double free_bytes);

}  // namespace headway::training::detail
