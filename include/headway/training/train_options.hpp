#pragma once

#include <cstdint>
#include <string>

#include "headway/core/option_table_fwd.hpp"
#include "headway/core/words.hpp"
#include "headway/types.hpp"

namespace headway::training {

enum class LearningRateSchedule {
  /// Rises linearly from 0 in `warmup_steps` steps (src/training/README.md, eq. 13). Then falls as
  /// half a cosine to final_fraction of the rate at step (steps - warmup_steps), then flat [S25].
  kCosine,
  kConstant,  ///< the same warm-up, then flat
};
Words<LearningRateSchedule> words_of(LearningRateSchedule);

enum class Device { kAuto, kCpu, kCuda };  ///< kAuto: CUDA where LibTorch has it, else the CPU
Words<Device> words_of(Device);
/// Of the operands of products on a GPU: float32 as it is, rounded to TF32 (11 bits), or to bf16
/// (8).
enum class Precision { kFloat32, kTf32, kBfloat16 };
Words<Precision> words_of(Precision);

/// One training run. The defaults are the fuzzy-logic runs of [S25].
struct TrainOptions {
  Index steps = 50000;
  Index batch = 128;       ///< examples of a step
  Index accumulation = 1;  ///< pieces that a micro-batch is cut into, to save memory
  /// Equal parts of a step's batch; micro_batches * accumulation divides batch. Their gradients are
  /// summed in one fixed tree, whichever rank computes them (TrainingRanks). Another number of
  /// parts changes rounding. It also changes the loss if TransformerOptions::load_balancing is set,
  /// which acts on each part.
  Index micro_batches = 1;
  double learning_rate = 1e-3;
  double weight_decay = 0.1;  ///< of AdamW; skips parameters of one dimension
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-8;
  LearningRateSchedule schedule = LearningRateSchedule::kCosine;
  Index warmup_steps = 100;
  double final_fraction = 0.1;
  double gradient_clip = 0.0;  ///< largest 2-norm of the whole gradient; 0: no clipping
  Index log_every = 100;       ///< steps between records of the training loss; 0: none
  Index eval_every = 1000;     ///< steps between evaluations; 0: at the end only
  Index eval_examples = 4096;  ///< of each split but train, the same ones every time
  Index eval_batch = 0;        ///< examples at a time; 0: as in training, piece()
  Index checkpoint_every = 0;  ///< steps between periodic checkpoints; 0: none but best and last
  /// Split whose loss says which checkpoint is the best; "": TrainingTask::selection_split().
  std::string best_split;
  Device device = Device::kAuto;
  Precision precision = Precision::kFloat32;  ///< others: CUDA only; parameters stay float32
  std::uint64_t seed = 0;  ///< of initial weights and dropout; the task has its own
  /// 0: all cores. On the CPU no number of threads changes a bit, unless `eager`: LibTorch's sums
  /// depend on it.
  int threads = 0;
  /// Attention by LibTorch's own operations in place of the fused kernels (CPU): slow, for tests
  /// and benchmarks. The other layers are then LibTorch's too.
  bool eager = false;

  /// Examples whose gradients are computed at a time: batch / (micro_batches * accumulation).
  [[nodiscard]] Index piece() const { return batch / (micro_batches * accumulation); }
  /// Examples that are evaluated at a time.
  [[nodiscard]] Index evaluated_at_a_time() const { return eval_batch > 0 ? eval_batch : piece(); }

  static const OptionTable<TrainOptions>& table();  ///< [train]: the run
  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
  bool operator==(const TrainOptions&) const = default;
};

/// The rate of update `step` = 0, 1, ...
double learning_rate_at(const TrainOptions& options, Index step);

}  // namespace headway::training
