// What a training step that is written by hand is made of: the operations that a device runs, in
// plain C++. Pointers are to the device's memory, matrices are row-major, numbers are float.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "training/kernels/cuda/gpu_attention.hpp"

namespace headway::training::detail {

/// `row` numbers from a row to the next, `batch` from one matrix to the next.
template <typename Float>
struct StepMatrix {
  Float* data = nullptr;
  Index row = 0;
  Index batch = 0;
};

/// What a product does with its sums before they are written.
enum class ProductEnd {
  kNone,
  kGelu,         ///< keeps them in `kept`, and writes gelu of them, in its tanh form
  kGeluGradient  ///< multiplies them by gelu' of what is in `kept`
};

/// out[b] = end(left[b] right[b] + bias + added[b]), for each b < batch. left [rows, inner], right
/// [inner, columns]; a factor that is `transposed` lies in memory the other way round. `added` may
/// be `out`.
struct StepProduct {
  Index rows = 0, columns = 0, inner = 0, batch = 1;
  StepMatrix<const float> left, right;
  bool left_transposed = false, right_transposed = false;
  bool tf32 = false;              ///< factors are rounded to TF32
  const float* bias = nullptr;    ///< [columns], or null
  StepMatrix<const float> added;  ///< data null: nothing is added
  ProductEnd end = ProductEnd::kNone;
  float* kept = nullptr;  ///< [rows, columns]
  StepMatrix<float> out;
};

/// y = norm(x) scale + bias, and mean and 1 / deviation of each row (row_kernels.hpp).
struct StepNorm {
  Index rows = 0, dim = 0;
  bool centred = true;
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;  ///< null for RMSNorm
  float* y = nullptr;
  float* stats = nullptr;  ///< [rows, 2]
};

/// dx = base + gradient of x; each of `groups` runs of rows sums its part of the gradients of scale
/// and bias.
struct StepNormGradient {
  Index rows = 0, dim = 0, groups = 1;
  bool centred = true;
  const float* x = nullptr;
  const float* stats = nullptr;
  const float* scale = nullptr;
  const float* dy = nullptr;
  const float* base = nullptr;
  float* dx = nullptr;
  float* scale_sums = nullptr;  ///< [groups, dim]
  float* bias_sums = nullptr;   ///< [groups, dim]; null for RMSNorm
};

/// Sums over the rows of several matrices.
struct StepColumnSums {
  struct Part {
    const float* x = nullptr;  ///< [rows, columns]
    Index rows = 0, columns = 0, groups = 1;
    float* sums = nullptr;  ///< [groups, columns]
  };
  std::vector<Part> parts;  ///< at most kMostParts
  static constexpr std::size_t kMostParts = 40;
};

/// active = silu(g) u of rows (g, u).
struct StepSwiglu {
  Index rows = 0, dim = 0;
  const float* both = nullptr;  ///< [rows, 2 dim]
  float* active = nullptr;      ///< [rows, dim]
};
struct StepSwigluGradient {
  Index rows = 0, dim = 0;
  const float* both = nullptr;
  const float* d_active = nullptr;
  float* d_both = nullptr;
};

/// y[r] = table[ids[r]].
struct StepLookUp {
  Index rows = 0, dim = 0, entries = 0;
  const std::int32_t* ids = nullptr;
  const float* table = nullptr;  ///< [entries, dim]
  float* y = nullptr;
};
/// d_table[e] = sum of dy[r] over the rows with id e, in order.
struct StepLookUpGradient {
  Index rows = 0, dim = 0, entries = 0;
  const std::int32_t* ids = nullptr;
  const float* dy = nullptr;
  float* d_table = nullptr;
};

/// The `wanted` tokens of each example from place `first` on.
struct StepSomeTokens {
  Index examples = 0, tokens = 0, first = 0, wanted = 0, dim = 0;
  const float* from = nullptr;  ///< [examples, tokens, dim]
  float* to = nullptr;          ///< [examples, wanted, dim]
};
/// The other way, added to `base` where there is one; other tokens get 0. At these it also clears
/// some columns of `cleared`.
struct StepSomeTokensGradient {
  Index examples = 0, tokens = 0, first = 0, wanted = 0, dim = 0;
  const float* from = nullptr;  ///< [examples, wanted, dim]
  const float* base = nullptr;  ///< [examples, tokens, dim], or null
  float* to = nullptr;          ///< [examples, tokens, dim]
  Index cleared_columns = 0, cleared_row = 0;
  float* cleared = nullptr;  ///< [examples, tokens, cleared_row]
};

/// Blocks of matrices, each to a dense matrix of its own.
struct StepBlocks {
  struct Part {
    Index rows = 0, columns = 0;
    Index row = 0;  ///< of `from`
    const float* from = nullptr;
    float* to = nullptr;
  };
  std::vector<Part> parts;  ///< at most StepPositions::kMostLayers
};

/// Queries and keys turned by their place (rotary positions), in rows of `row` numbers; `backward`:
/// turned back. Pair i of a head is its dims i and i + half.
struct StepRotation {
  Index rows = 0, tokens = 0, row = 0, heads = 0, half = 0;
  bool backward = false;
  const float* table = nullptr;  ///< [tokens, half, 2]: cosine and sine
  float* x = nullptr;
};

/// The numbers that relative positions add to the scores: out[h, q, k] = table[bucket(first + q -
/// k), h]. Of several layers.
struct StepPositions {
  struct Layer {
    Index queries = 0, keys = 0;
    Index first = 0;               ///< place of the first query where keys begin at 0
    const float* table = nullptr;  ///< [buckets, H]
    float* out = nullptr;          ///< [H, queries, keys]
  };
  Index heads = 0, buckets = 0;
  Index farthest = 0;                       ///< distances are -farthest .. farthest
  const std::int32_t* bucket_of = nullptr;  ///< [2 farthest + 1], from -farthest on
  std::vector<Layer> layers;                ///< at most kMostLayers
  static constexpr std::size_t kMostLayers = 40;
};
/// out[i] = sum over c of copies[c, i], of several arrays.
struct StepCopySums {
  struct Part {
    Index copies = 1, count = 0;
    const float* from = nullptr;  ///< [copies, count]
    float* out = nullptr;
  };
  std::vector<Part> parts;  ///< at most StepPositions::kMostLayers
};
/// The gradients of the tables, from those of the numbers.
struct StepPositionsGradient {
  struct Layer {
    Index queries = 0, keys = 0;
    Index first = 0;
    const float* d_scores = nullptr;  ///< [H, queries, keys]
    float* d_table = nullptr;         ///< [buckets, H]
  };
  Index heads = 0, buckets = 0;
  Index farthest = 0;
  const std::int32_t* bucket_of = nullptr;
  std::vector<Layer> layers;
};

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
/// to[row] = sum over copies of from[copy, row].
struct StepQuerySums {
  Index rows = 0, dim = 0, copies = 1;
  const float* from = nullptr;  ///< [copies, rows, dim]
  Index tokens = 1;             ///< rows of an example
  TokenSteps steps;             ///< of `to`
  float* to = nullptr;
};

/// The loss of each row, and its gradient times 1 / count, where `count` terms make the mean.
struct StepLoss {
  Index rows = 0, outputs = 0;
  const float* y = nullptr;               ///< [rows, outputs]
  const float* targets = nullptr;         ///< squared error: [rows, outputs]
  const std::int32_t* classes = nullptr;  ///< cross-entropy: [rows]
  float* losses = nullptr;                ///< [rows], summed over outputs
  float* dy = nullptr;
};

/// A run of the parameters, whose gradient is a sum of copies.
struct StepSum {
  Index first_copy = 0;  ///< in the array of copies, [count_of_copies, count] from there on
  Index count_of_copies = 1, count = 0;
  Index first = 0;  ///< of the run in the vector of all parameters
  bool decayed = false;
};
/// Gradients of all parameters, partial sums of their squares, and the mean loss.
struct StepSums {
  Index blocks = 0;                     ///< each of at most kNumbersOfBlock numbers of one sum
  const std::int64_t* table = nullptr;  ///< [blocks, kColumns]
  const float* copies = nullptr;        ///< the array that all sums lie in
  Index copies_size = 0;
  float* gradients = nullptr;
  double* squares = nullptr;  ///< [blocks]
  Index losses_count = 0;
  double loss_scale = 1.0;
  const float* losses = nullptr;
  double* loss = nullptr;  ///< of one number
  static constexpr Index kNumbersOfBlock = 1024;
  static constexpr Index kColumns =
      6;  ///< first copy, copies, step, first parameter, count, decayed
};

/// AdamW over all parameters (eq. 12 of src/training/README.md). Nothing changes where this or an
/// earlier update since history was read had numbers that are not finite.
struct StepUpdate {
  Index blocks = 0;
  const std::int64_t* table = nullptr;  ///< of StepSums
  const float* gradients = nullptr;
  const double* squares = nullptr;
  const double* loss = nullptr;
  /// rate / (1 - beta_1^t), 1 / (1 - beta_2^t), rate decay, and the place in the history.
  const float* numbers = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  float* values = nullptr;
  double* history = nullptr;  ///< [kMostStepsAhead, 2]: loss, norm of the gradient
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-8, most_norm = 0.0;
};

using StepOperation =
    std::variant<StepProduct, StepNorm, StepNormGradient, StepColumnSums, StepSwiglu,
                 StepSwigluGradient, StepLookUp, StepLookUpGradient, StepSomeTokens,
                 StepSomeTokensGradient, StepBlocks, StepRotation, StepPositions, StepCopySums,
                 StepPositionsGradient, StepAttention, StepAttentionGradient, StepQuerySums,
                 StepLoss, StepSums, StepUpdate>;

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
};

}  // namespace headway::training::detail
