#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headway/types.hpp"

namespace headway::training {

enum class LossKind {
  kSquaredError,  ///< mean over examples, scored tokens and outputs of (output - target)^2
  kCrossEntropy,  ///< mean over examples and scored tokens of -log softmax(outputs)[target], nats
};                // times the weight of each target, where batches have them

/// What a model must know of a task.
struct TaskFormat {
  Index tokens = 0;      ///< S, the same for every example
  Index features = 0;    ///< F numbers a token, when the inputs are numbers; else 0
  Index vocabulary = 0;  ///< number of token ids, when the inputs are ids; else 0
  Index outputs = 0;     ///< O numbers a token: values, or logits of classes
  LossKind loss = LossKind::kSquaredError;
  Index scored = 0;  ///< the last n tokens have targets; from 1 to S
  /// Squared error of labels -1 and +1: the sign of an output is its answer, and has an accuracy.
  bool signs = false;
  /// Cross-entropy: an example is right where all its scored tokens are; else tokens count one by
  /// one.
  bool all_or_nothing = false;
  bool weighted = false;  ///< batches have weights: some targets do not count
  /// Bytes of text that each class stands for, [O], for bits per byte; empty: no such metric.
  std::vector<double> class_bytes = {};

  /// Error{kBadStudy} unless all of it makes sense (exactly one of features and vocabulary, ...).
  void validate() const;
  bool operator==(const TaskFormat&) const = default;
};

/// B examples. Only the arrays that the format needs are filled.
struct TaskBatch {
  Index examples = 0;
  std::vector<float> inputs;          ///< [B, S, F]
  std::vector<std::int32_t> ids;      ///< [B, S]
  std::vector<float> targets;         ///< squared error: [B, scored, O]
  std::vector<std::int32_t> classes;  ///< cross-entropy: [B, scored]
  /// Squared error: variance of the targets of each example's whole sequence, [B], the denominator
  /// of the per-example R^2; or empty.
  std::vector<float> target_variances;
  std::vector<std::uint8_t> mask;  ///< [B, S], 0 hides a token from attention; empty: all are seen
  /// [B, scored], of the loss of each target in training; 0: it counts nowhere. Empty: all are 1.
  std::vector<float> weights;
};

/// What examples are composed of: one number from 0 for each of them.
struct FactorValues {
  std::string name;
  std::vector<int> values;
};

/// Where a trainer gets its examples. Any example of any split can be had at any time by its index.
/// So the number of examples that a run has seen is its whole position in the data.
class TrainingTask {
 public:
  TrainingTask() = default;
  TrainingTask(const TrainingTask&) = delete;
  TrainingTask& operator=(const TrainingTask&) = delete;
  virtual ~TrainingTask() = default;

  [[nodiscard]] virtual const TaskFormat& format() const = 0;
  /// "train" first, then those that a trainer evaluates ("test", "held_out", "unknown_terms", ...).
  [[nodiscard]] virtual const std::vector<std::string>& splits() const = 0;
  /// Examples of a split; 0 when it has no end.
  [[nodiscard]] virtual Index size(std::string_view split) const = 0;
  /// Examples first, ..., first + count - 1; the memory of `out` is used again. May be called from
  /// several threads. Error{kBadStudy} for an unknown split or examples past its end.
  virtual void batch(std::string_view split, Index first, Index count, TaskBatch& out) const = 0;
  /// The split whose loss says which checkpoint is the best, where the user names none.
  [[nodiscard]] virtual std::string_view selection_split() const = 0;
  /// Different examples that training has; 0: they have no end. Beyond them it has them again.
  [[nodiscard]] virtual Index train_examples() const { return 0; }
  /// The factors of examples first, ..., first + count - 1; none where the task does not tell them.
  [[nodiscard]] virtual std::vector<FactorValues> factors(std::string_view /*split*/,
                                                          Index /*first*/, Index /*count*/) const {
    return {};
  }
};

/// Error{kBadStudy} with the names of the task's splits unless `split` is one.
void require_split(const TrainingTask& task, std::string_view split);

}  // namespace headway::training
