#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "headway/core/words.hpp"
#include "headway/types.hpp"

// What linear decoders read off codes of tasks that they have not seen. Examples of one task are
// not independent of each other: whole tasks are left out, in cross-validation and in standard
// errors.
namespace headway::analysis {

enum class DecoderKind { kLogistic, kRidge };
Words<DecoderKind> words_of(DecoderKind);

/// kF1: mean over questions of 2 TP / (2 TP + FP + FN) of class 1. kBalancedAccuracy: mean over the
/// classes that occur of the share that is right, and over questions. kR2: mean over the targets of
/// 1 - squared error / squared deviation from their mean on the same examples.
enum class DecoderMetric { kF1, kBalancedAccuracy, kR2 };
Words<DecoderMetric> words_of(DecoderMetric);

/// Codes and what is asked of them, n examples.
struct DecodingData {
  MatrixXd codes;            ///< [n, H]
  std::vector<Index> tasks;  ///< [n], which task an example is of
  /// [n], or none: what a code shows by where it is taken, whatever the network (its position).
  /// Counts as known without the codes.
  std::vector<int> places;
  /// kLogistic: for each question a class for each example; one-vs-rest: a question for each label.
  std::vector<std::vector<int>> classes;
  MatrixXd targets;  ///< kRidge: [n, O]
};

struct DecodingOptions {
  DecoderKind kind = DecoderKind::kLogistic;
  DecoderMetric metric = DecoderMetric::kF1;
  int class_count = 2;  ///< kLogistic
  int folds = 5;        ///< of cross-validation over the training tasks
  int shuffles = 10;    ///< fits to shuffled labels
  std::vector<double> penalties = {1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5};
  std::uint64_t seed = 0;  ///< of folds and shuffles
};

/// What was read off.
struct Decoding {
  double train = std::numeric_limits<double>::quiet_NaN();  ///< on what the decoder was fitted to
  double held_out = std::numeric_limits<double>::quiet_NaN();  ///< on other tasks
  /// Of held_out, over its tasks: sqrt((m - 1)/m sum (left out one - their mean)^2) (jackknife).
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  /// The best that is possible without the codes: always class 1 (F1), any class (1 over those that
  /// occur), the mean (R^2: 0). With places: the class that is likeliest to have the place, where
  /// that is better (kF1 and kR2: as without).
  double chance = std::numeric_limits<double>::quiet_NaN();
  /// held_out of decoders fitted to labels that were exchanged between training tasks, mean and
  /// deviation over the exchanges. Classes weigh the same in a fit, so where F1 is asked and codes
  /// say nothing these decoders say class 1 half of the time: p/(p + 1/2) at a share p of class 1,
  /// below chance, 2p/(1 + p).
  double shuffled = std::numeric_limits<double>::quiet_NaN();
  double shuffled_deviation = std::numeric_limits<double>::quiet_NaN();
  double penalty = 0.0;  ///< that cross-validation chose
  /// Every fit with this penalty did, to shuffled labels and in cross-validation, too.
  bool converged = true;
};

/// The fold of each task, [tasks of `data` counted once, rising]: the tasks in a random order
/// (stream (seed, kDecodingFolds, 0)), dealt out in turn.
std::vector<int> task_folds(const std::vector<Index>& tasks, int folds, std::uint64_t seed);

/// Fits decoders to `train`, with the penalty whose loss (class-balanced cross-entropy, or squared
/// error) is lowest in cross-validation over its tasks, and asks them on `held_out`. Labels are
/// exchanged by giving each training task the labels of the examples of another one (with places:
/// of those at the same place), which keeps what labels of one task have in common. Errors:
/// kBadData when train has fewer tasks than folds, held_out fewer than 2, or labels do not vary.
/// Cost: (folds penalties + shuffles) fits a question.
Decoding decode(const DecodingData& train, const DecodingData& held_out,
                const DecodingOptions& options);

/// Mean codes of labels, and how alike they are.
struct CodeSimilarity {
  MatrixXd mean;    ///< [labels, H]: mean code of the examples that have the label
  MatrixXd cosine;  ///< between mean codes; NaN for a label that does not occur
  /// The same with the mean over labels taken from each; NaN where less than rounding is left.
  MatrixXd centred;
  /// Mean cosine between a code of `train` and one of `held_out`, so never of the same task: of
  /// examples that have the same label, and of two labels that differ where the examples share
  /// none; means over labels.
  double same = std::numeric_limits<double>::quiet_NaN();
  double different = std::numeric_limits<double>::quiet_NaN();
};

/// `labels[i]` are those of example i (at least one), from 0 to count - 1. Mean codes are over
/// `held_out`. Cost: n H.
CodeSimilarity code_similarity(const MatrixXd& train,
                               const std::vector<std::vector<int>>& train_labels,
                               const MatrixXd& held_out,
                               const std::vector<std::vector<int>>& held_out_labels, int count);

}  // namespace headway::analysis
