// Scores of decoders from sums over tasks, so that leaving a task out costs a subtraction.
#pragma once

#include <vector>

#include "analysis/linear_decoder.hpp"
#include "headway/analysis/decoding.hpp"
#include "headway/types.hpp"

namespace headway::analysis {

/// Tasks numbered from 0 by their rising values: of each example, and how many there are.
std::vector<Index> task_numbers(const std::vector<Index>& tasks);
Index task_count(const std::vector<Index>& tasks);

/// The sums that a metric is computed from.
struct ScoreSums {
  DecoderMetric metric = DecoderMetric::kF1;
  /// Numbers that a question has: TP, FP, FN; right and count of each class; n, sum of y, of y^2,
  /// of squared errors.
  Index per_question = 3;
  MatrixXd by_task;  ///< [tasks, questions * per_question]

  [[nodiscard]] double score() const { return score_of(by_task.colwise().sum().transpose()); }
  /// sqrt((m - 1)/m sum_t (score without task t - mean of these)^2); NaN where one is undefined.
  [[nodiscard]] double jackknife_error() const;

 private:
  [[nodiscard]] double score_of(const VectorXd& sums) const;
};

/// answers and classes: [questions][n]. For kF1 and kBalancedAccuracy. kNoAnswer counts as a random
/// guess, by its probability to be right.
ScoreSums class_sums(const std::vector<std::vector<int>>& answers,
                     const std::vector<std::vector<int>>& classes, int count, DecoderMetric metric,
                     const std::vector<Index>& tasks);
/// answers and targets: [n, O]. For kR2.
ScoreSums regression_sums(const MatrixXd& answers, const MatrixXd& targets,
                          const std::vector<Index>& tasks);

/// The best score of answers that do not look at the codes, on `held_out`, fitted to `train`: see
/// Decoding::chance.
double chance_of(const DecodingData& train, const DecodingData& held_out,
                 const DecodingOptions& options);

}  // namespace headway::analysis
