// What a training step that is written by hand is made of: the operations that a device runs, in
// plain C++. Pointers are to the device's memory, matrices are row-major. Numbers are float. Of a
// step in bf16, what products and attention read is bf16, and so is what they give to a kernel that
// adds nothing to it (NumbersOfRuns). Sums are float.
//
// A stack of runs is one list of operations, each with the number of runs that it works for. Sizes
// are those of one run. An array of a run is OfRuns; a plain pointer is to what all runs share. The
// runs never meet: operation by operation, each has the launch that it would have alone, side by
// side in one. So its bits do not depend on the others.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "training/kernels/cuda/gpu_attention.hpp"
#include "training/step/step_arrays.hpp"
#include "training/step/step_network_operations.hpp"

namespace headway::training::detail {

/// What a product does with its sums before they are written.
enum class ProductEnd {
  kNone,
  kGelu,         ///< keeps them in `kept`, and writes gelu of them, in its tanh form
  kGeluGradient  ///< multiplies them by gelu' of what is in `kept`
};

/// out[b] = end(left[b] right[b] + bias + added[b]), for each b < batch. left [rows, inner], right
/// [inner, columns]; a factor that is `transposed` lies in memory the other way round. Both are
/// floats, or both bf16. `added` may be `out`; with it `out` is of floats. `bias` and `kept` are of
/// what `out` is.
struct StepProduct {
  Index rows = 0, columns = 0, inner = 0, batch = 1;
  StepMatrix<const float> left, right;
  bool left_transposed = false, right_transposed = false;
  bool tf32 = false;                ///< factors are rounded to TF32
  NumbersOfRuns<const float> bias;  ///< [columns], or null
  StepMatrix<const float> added;    ///< data null: nothing is added
  ProductEnd end = ProductEnd::kNone;
  NumbersOfRuns<float> kept;  ///< [rows, columns]
  StepMatrix<float> out;
  Index runs = 1;
};

/// to = from, rounded to bf16, of several arrays: what products read of parameters and inputs.
struct StepRounding {
  struct Part {
    Index count = 0;
    OfRuns<const float> from;
    OfRuns<Bf16> to;
  };
  std::vector<Part> parts;
  static constexpr std::size_t kMostParts = 40;  ///< of one launch
  Index runs = 1;
};

/// y = norm(x) scale + bias, and mean and 1 / deviation of each row (row_kernels.hpp).
struct StepNorm {
  /// What a product left to the norm. x holds its sums, and becomes sums + bias + stream before.
  struct Added {
    OfRuns<float> to;  ///< x; null: nothing is added
    OfRuns<const float> bias;
    OfRuns<const float> stream;
    Index tokens = 1;  ///< rows of an example
    TokenSteps steps;  ///< of `stream`
  };
  Index rows = 0, dim = 0;
  bool centred = true;
  OfRuns<const float> x;
  OfRuns<const float> scale;
  OfRuns<const float> bias;  ///< null for RMSNorm
  NumbersOfRuns<float> y;
  OfRuns<float> stats;  ///< [rows, 2]
  Added added = {};
  Index runs = 1;
};

/// dx = base + gradient of x; each of `groups` runs of rows sums its part of the gradients of scale
/// and bias.
struct StepNormGradient {
  Index rows = 0, dim = 0, groups = 1;
  bool centred = true;
  OfRuns<const float> x;
  OfRuns<const float> stats;
  OfRuns<const float> scale;
  NumbersOfRuns<const float> dy;
  OfRuns<const float> base;
  OfRuns<float> dx;
  OfRuns<Bf16> rounded;      ///< dx for products; null: they read dx itself
  OfRuns<float> scale_sums;  ///< [groups, dim]
  OfRuns<float> bias_sums;   ///< [groups, dim]; null for RMSNorm
  Index runs = 1;
};

/// Sums over the rows of several matrices.
struct StepColumnSums {
  struct Part {
    NumbersOfRuns<const float> x;  ///< [rows, columns]
    Index rows = 0, columns = 0, groups = 1;
    OfRuns<float> sums;  ///< [groups, columns]
  };
  std::vector<Part> parts;
  static constexpr std::size_t kMostParts = 40;  ///< of a launch; more take several
  Index runs = 1;
};

/// active = silu(g) u of rows (g, u).
struct StepSwiglu {
  Index rows = 0, dim = 0;
  NumbersOfRuns<const float> both;  ///< [rows, 2 dim]
  NumbersOfRuns<float> active;      ///< [rows, dim]
  Index runs = 1;
};
struct StepSwigluGradient {
  Index rows = 0, dim = 0;
  NumbersOfRuns<const float> both;
  NumbersOfRuns<const float> d_active;
  NumbersOfRuns<float> d_both;
  Index runs = 1;
};

/// y[r] = table[ids[r]].
struct StepLookUp {
  Index rows = 0, dim = 0, entries = 0;
  OfRuns<const std::int32_t> ids;
  OfRuns<const float> table;  ///< [entries, dim]
  OfRuns<float> y;
  Index runs = 1;
};
/// d_table[e] = sum of dy[r] over the rows with id e, in order.
struct StepLookUpGradient {
  Index rows = 0, dim = 0, entries = 0;
  OfRuns<const std::int32_t> ids;
  OfRuns<const float> dy;
  OfRuns<float> d_table;
  Index runs = 1;
};

/// The `wanted` tokens of each example from place `first` on.
struct StepSomeTokens {
  Index examples = 0, tokens = 0, first = 0, wanted = 0, dim = 0;
  OfRuns<const float> from;  ///< [examples, tokens, dim]
  OfRuns<float> to;          ///< [examples, wanted, dim]
  Index runs = 1;
};
/// The other way, added to `base` where there is one; other tokens get 0. At these it also clears
/// some columns of `cleared`.
struct StepSomeTokensGradient {
  Index examples = 0, tokens = 0, first = 0, wanted = 0, dim = 0;
  OfRuns<const float> from;  ///< [examples, wanted, dim]
  OfRuns<const float> base;  ///< [examples, tokens, dim], or null
  OfRuns<float> to;          ///< [examples, tokens, dim]
  OfRuns<Bf16> rounded;      ///< `to` for products; null: they read `to` itself
  Index cleared_columns = 0, cleared_row = 0;
  NumbersOfRuns<float> cleared;  ///< [examples, tokens, cleared_row]
  Index runs = 1;
};

/// Blocks of matrices, each to a dense matrix of its own.
struct StepBlocks {
  struct Part {
    Index rows = 0, columns = 0;
    Index row = 0;  ///< of `from`
    OfRuns<const float> from;
    OfRuns<float> to;
  };
  std::vector<Part> parts;  ///< at most StepPositions::kMostLayers
  Index runs = 1;
};

/// Queries and keys turned by their place (rotary positions), in rows of `row` numbers; `backward`:
/// turned back. Pair i of a head is its dims i and i + half.
struct StepRotation {
  Index rows = 0, tokens = 0, row = 0, heads = 0, half = 0;
  bool backward = false;
  const float* table = nullptr;  ///< [tokens, half, 2]: cosine and sine
  NumbersOfRuns<float> x;
  Index runs = 1;
};

/// The numbers that relative positions add to the scores: out[h, q, k] = table[bucket(first + q -
/// k), h]. Of several layers.
struct StepPositions {
  struct Layer {
    Index queries = 0, keys = 0;
    Index first = 0;            ///< place of the first query where keys begin at 0
    OfRuns<const float> table;  ///< [buckets, H]
    OfRuns<float> out;          ///< [H, queries, keys]
  };
  Index heads = 0, buckets = 0;
  Index farthest = 0;                       ///< distances are -farthest .. farthest
  const std::int32_t* bucket_of = nullptr;  ///< [2 farthest + 1], from -farthest on
  std::vector<Layer> layers;                ///< at most kMostLayers
  static constexpr std::size_t kMostLayers = 40;
  Index runs = 1;
};
/// out[i] = factor times the sum over c of copies[c, i], of several arrays.
struct StepCopySums {
  struct Part {
    Index copies = 1, count = 0;
    double factor = 1.0;
    OfRuns<const float> from;  ///< [copies, count]
    NumbersOfRuns<float> out;
  };
  std::vector<Part> parts;  ///< at most StepPositions::kMostLayers
  Index runs = 1;
};
/// The gradients of the tables, from those of the numbers.
struct StepPositionsGradient {
  struct Layer {
    Index queries = 0, keys = 0;
    Index first = 0;
    OfRuns<const float> d_scores;  ///< [H, queries, keys]
    OfRuns<float> d_table;         ///< [buckets, H]
  };
  Index heads = 0, buckets = 0;
  Index farthest = 0;
  const std::int32_t* bucket_of = nullptr;
  std::vector<Layer> layers;
  Index runs = 1;
};

/// The examples of all runs as one layer, a GpuStack.
struct StepAttention {
  GpuAttentionLayer layer;
  GpuAttentionPlan plan;
  GpuAttentionInputs in;
  GpuAttentionOutputs out;
};
/// The copies of the gradients of bias, mixing and, with several key slices, queries stay.
struct StepAttentionGradient {
  GpuAttentionLayer layer;
  GpuAttentionPlan plan;
  GpuAttentionInputs in;
  GpuAttentionPassedBack passed;
  GpuAttentionGradients gradients;
};
/// to[row] = sum over copies of from[copy, row], of the rows of all runs.
struct StepQuerySums {
  Index rows = 0, dim = 0, copies = 1;
  const float* from = nullptr;  ///< [copies, rows, dim]
  Index tokens = 1;             ///< rows of an example
  TokenSteps steps;             ///< of `to`
  NumbersOfRuns<float> to;
};

/// The loss of each row, and its gradient times 1 / count, where `count` terms make the mean.
struct StepLoss {
  Index rows = 0, outputs = 0;
  OfRuns<const float> y;               ///< [rows, outputs]
  OfRuns<const float> targets;         ///< squared error: [rows, outputs]
  OfRuns<const std::int32_t> classes;  ///< cross-entropy: [rows]
  OfRuns<float> losses;                ///< [rows], summed over outputs
  NumbersOfRuns<float> dy;
  Index runs = 1;
};

/// Parameters that lie beside each other, whose gradient is a sum of copies.
struct StepSum {
  Index first_copy = 0;  ///< in the array of copies, [runs, count_of_copies, step] from there on
  Index count_of_copies = 1, step = 0;
  Index count = 0;
  Index first = 0;  ///< in the vector of all parameters of a run
  bool decayed = false;
  float rate = 1.0F;  ///< times the learning rate
};
/// Gradients of all parameters, partial sums of their squares, and the mean loss.
struct StepSums {
  Index blocks = 0;  ///< of a run, each of at most kNumbersOfBlock numbers of one sum
  const std::int64_t* table = nullptr;  ///< [blocks, kColumns]
  const float* copies = nullptr;        ///< the array that all sums lie in
  Index copies_size = 0;
  OfRuns<float> gradients;
  OfRuns<double> squares;  ///< [blocks]
  Index losses_count = 0;
  double loss_scale = 1.0;
  OfRuns<const float> losses;
  OfRuns<double> loss;  ///< of one number
  static constexpr Index kNumbersOfBlock = 1024;
  /// First copy, copies, step, first parameter, count, decayed, the bits of the rate.
  static constexpr Index kColumns = 7;
  Index runs = 1;
};

/// AdamW over all parameters (eq. 12 of src/training/README.md). Nothing changes in a run whose
/// place in the history is negative. Nor does anything in one where this or an earlier update since
/// its history was read had numbers that are not finite.
struct StepUpdate {
  Index blocks = 0;
  const std::int64_t* table = nullptr;  ///< of StepSums
  OfRuns<const float> gradients;
  OfRuns<const double> squares;
  OfRuns<const double> loss;
  /// rate / (1 - beta_1^t), 1 / (1 - beta_2^t), rate decay, and the place in the history.
  OfRuns<const float> numbers;
  OfRuns<float> first;
  OfRuns<float> second;
  OfRuns<float> values;
  OfRuns<double> history;  ///< [kMostStepsAhead, 2]: loss, norm of the gradient
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-8, most_norm = 0.0;
  Index runs = 1;
};

using StepOperation =
    std::variant<StepProduct, StepRounding, StepNorm, StepNormGradient, StepColumnSums, StepSwiglu,
                 StepSwigluGradient, StepGates, StepExpertShares, StepSwap, StepScaledCopies,
                 StepPathAttention, StepPathAttentionGradient, StepPathRows, StepPathRowsGradient,
                 StepScaledExperts, StepScaledExpertsGradient, StepGatesGradient, StepLookUp,
                 StepLookUpGradient, StepSomeTokens, StepSomeTokensGradient, StepBlocks,
                 StepRotation, StepPositions, StepCopySums, StepPositionsGradient, StepAttention,
                 StepAttentionGradient, StepQuerySums, StepLoss, StepSums, StepUpdate>;

/// What an operation costs: floating-point operations of products and attention, and bytes that
/// pass through the device's memory if each array passes once.
struct StepCost {
  double flops = 0.0;
  double bytes = 0.0;
  int launches = 1;
};
StepCost cost_of(const StepOperation& operation);

/// An operation of a step, with the name of what it does.
struct StepLaunch {
  std::string name;
  StepOperation operation;
  /// Nobody but the sum of all gradients reads what it writes, and nobody writes again what it
  /// reads. So it may run beside the operations between itself and that sum.
  bool aside = false;
};

}  // namespace headway::training::detail
