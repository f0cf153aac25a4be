#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "headway/core/words.hpp"
#include "headway/types.hpp"

// Linear decoders of latent codes, judged on tasks that they have not seen. Examples of one task
// are not independent of each other. So cross-validation and standard errors leave out whole tasks.
namespace headway::analysis {

enum class DecoderKind { kLogistic, kRidge };
Words<DecoderKind> words_of(DecoderKind);

/// kF1: 2 TP / (2 TP + FP + FN) of class 1, mean over questions. kBalancedAccuracy: share of right
/// answers in each class that occurs, mean over classes and questions. kR2: 1 - squared error /
/// squared deviation from the mean on the same examples, mean over the targets.
enum class DecoderMetric { kF1, kBalancedAccuracy, kR2 };
Words<DecoderMetric> words_of(DecoderMetric);

/// Codes of n examples, and the questions that decoders answer from them.
struct DecodingData {
  MatrixXd codes;            ///< [n, H]
  std::vector<Index> tasks;  ///< [n], which task an example is of
  /// [n], or empty: the place that a code is taken from (its position). A code may show its place
  /// whatever the network, so that Decoding::chance may use it.
  std::vector<int> places;
  /// kLogistic: a class for each question and example. One-vs-rest takes a question for each label.
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

/// How well the decoders answer.
struct Decoding {
  double train = std::numeric_limits<double>::quiet_NaN();     ///< on the examples of the fit
  double held_out = std::numeric_limits<double>::quiet_NaN();  ///< on other tasks
  /// Of held_out, by a jackknife over its m tasks: sqrt((m - 1)/m sum_t (s_t - mean of s)^2), with
  /// s_t the score without task t.
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  /// The best score without the codes. F1: that of always answering class 1. Balanced accuracy: 1
  /// over the number of classes that occur, or with places the score of answering the class that is
  /// most often at the place, if that is better. R^2: 0, that of the mean.
  double chance = std::numeric_limits<double>::quiet_NaN();
  /// held_out of decoders fitted to labels that were exchanged between training tasks: mean and
  /// standard deviation over the exchanges. Classes have equal weight in a fit. So decoders of
  /// codes without information answer class 1 half of the time. At a share p of class 1 their F1 is
  /// p/(p + 1/2), which is below chance, 2p/(1 + p).
  double shuffled = std::numeric_limits<double>::quiet_NaN();
  double shuffled_deviation = std::numeric_limits<double>::quiet_NaN();
  double penalty = 0.0;  ///< that cross-validation chose
  /// Whether every fit with this penalty converged, those to shuffled labels and in
  /// cross-validation included.
  bool converged = true;
};

/// The fold of each distinct task, in rising order of the tasks. Tasks are dealt out in turn, in a
/// random order (stream (seed, kDecodingFolds, 0)).
std::vector<int> task_folds(const std::vector<Index>& tasks, int folds, std::uint64_t seed);

/// Fits decoders to `train`, and scores them on `held_out`. The penalty is the one with the lowest
/// loss (class-balanced cross-entropy, or squared error) in cross-validation over training tasks.
/// To exchange labels, each training task gets those of another one (with places: of its examples
/// at the same place). So labels of one task keep what they have in common. Errors:
/// kBadData when train has fewer tasks than folds, held_out fewer than 2, or labels do not vary.
/// Cost: (folds penalties + shuffles) fits a question.
Decoding decode(const DecodingData& train, const DecodingData& held_out,
                const DecodingOptions& options);

/// Mean codes of labels, and how alike they are.
struct CodeSimilarity {
  MatrixXd mean;    ///< [labels, H]: mean code of the examples that have the label
  MatrixXd cosine;  ///< between mean codes; NaN for a label that does not occur
  /// The same after subtracting the mean over labels. NaN where only rounding is left.
  MatrixXd centred;
  /// Mean cosine between a code of `train` and one of `held_out`, which are never of one task.
  /// `same`: the two examples have the same label. `different`: they share no label. Means over
  /// labels.
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
