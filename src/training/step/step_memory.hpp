// How much memory a hand-written step of a stack of runs takes, and how many runs a device holds.
#pragma once

#include "training/step/fused_step.hpp"

namespace headway::training::detail {

/// Bytes of all arrays of a step, counted by writing its list for a device that only counts: those
/// of StepArrays (parameters, gradients, both moments, examples, dropout), and what the step takes
/// itself (activations, their gradients, partial sums, workspace of attention). What LibTorch's own
/// attention takes for a layer is not counted. Error{kInternal} where FusedStep::obstacle() says
/// something.
double step_bytes(const EngineSetup& setup, const StepBatchShape& batch, const GpuDevice& device);

/// How many of `shape.batch.runs` runs fit at once into nine tenths of `free_bytes`. The rest is
/// for libraries. A run takes its share of the step. For an evaluation it takes the same again for
/// each `batch.examples` examples, which is an upper bound: an evaluation keeps one layer at a
/// time. All runs may evaluate at once. At least 1, even where that does not fit.
Index runs_that_fit(const EngineSetup& setup, const StackShape& shape, const GpuDevice& device,
                    double free_bytes);

}  // namespace headway::training::detail
