#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headway/training/training_task.hpp"

namespace headway::training {

struct Metric {
  std::string name;
  double value = 0.0;
  bool operator==(const Metric&) const = default;
};

/// Loss and metrics of one split.
struct Evaluation {
  Index examples = 0;
  double loss = 0.0;
  std::vector<Metric> metrics;  ///< in a fixed order; those of the task's loss

  /// NaN where there is no metric of this name.
  [[nodiscard]] double metric(std::string_view name) const;
};

/// How one example of a batch is answered, where its targets count.
struct ExampleScore {
  double loss = 0.0;  ///< mean over its scored tokens and outputs; NaN where none counts
  Index tokens = 0;   ///< scored tokens that count
  Index right = 0;    ///< scored targets whose sign, or class, the output has
  double r2 = 0.0;    ///< 1 - loss / variance of its sequence's targets; NaN without one
};

/// Of every example; outputs: [B, scored, O] of the batch. Error{kInternal} for another size.
std::vector<ExampleScore> example_scores(const TaskFormat& format, const TaskBatch& batch,
                                         std::span<const float> outputs);

/// The metric of single examples, larger is better: "accuracy" of signs or classes (as Evaluator
/// has it), "r2" where batches carry variances, else "r2_pooled".
std::string example_metric(const TaskFormat& format, const TaskBatch& batch);
/// Its value; NaN where it is undefined. `target_variance`, for r2_pooled: Evaluator's, of all
/// examples.
double example_metric_value(const TaskFormat& format, const TaskBatch& batch,
                            const ExampleScore& score, double target_variance);

/// Adds up batches of outputs. Sums are in double and in the order of the calls. Scored tokens of
/// weight 0 are left out everywhere; all others count the same.
///   squared error   r2: mean over examples of 1 - (mean squared error of the example) / (variance
///                   of its sequence's targets), where batches carry those variances; an example of
///                   variance 0 is left out
///                   r2_pooled: 1 - sum of squared errors / sum of squared deviations of the scored
///                   targets from their mean over all examples, output by output
///                   accuracy: share of the scored targets, -1 or +1, whose sign the output has
///                   (the format says signs); an output of 0 is wrong
///   cross-entropy   accuracy: share of tokens that are right; of examples whose tokens all are,
///                   where the format says all_or_nothing
///                   accuracy_per_feature: share of scored tokens that are right (with
///                   all_or_nothing)
///                   bits_per_byte: loss in bits over the bytes of the targets (class_bytes given)
///                   perplexity: exp(loss) (every token scored)
class Evaluator {
 public:
  explicit Evaluator(const TaskFormat& format);

  /// outputs: [B, scored, O] of the batch. Error{kInternal} for another size.
  void add(const TaskBatch& batch, std::span<const float> outputs);
  /// NaN where nothing was added; metrics that are not defined are left out.
  [[nodiscard]] Evaluation result() const;
  /// Squared error: of all scored targets about their means, mean over outputs; NaN without any.
  [[nodiscard]] double target_variance() const;

 private:
  void add_deviations(const TaskBatch& batch);

  TaskFormat format_;
  Index examples_ = 0;
  double loss_ = 0.0;  // summed over scored tokens and outputs
  double r2_ = 0.0;
  Index r2_examples_ = 0;
  /// Of an output: how many targets, their running mean and squares.
  struct Spread {
    double targets = 0.0, mean = 0.0, deviations = 0.0;
  };
  [[nodiscard]] Spread all_targets() const;  ///< summed over outputs, without the mean
  std::vector<Spread> spreads_;
  Index tokens_ = 0;  // scored and counted
  Index all_right_ = 0;
  Index tokens_right_ = 0;  // squared error: outputs of the right sign
  double bytes_ = 0.0;
};

}  // namespace headway::training
