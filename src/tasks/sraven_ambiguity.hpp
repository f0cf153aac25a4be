#pragma once

#include "headway/tasks/sraven.hpp"
#include "headway/types.hpp"

namespace headway::tasks {

/// What distribute-three may explain when ambiguity is judged.
enum class SravenExplanations {
  /// What the rule can produce: three distinct symbols, the same in every row. These explanations
  /// are those of the posterior (sraven_bayes.hpp).
  kPossible,
  /// What the checker of [S25] accepts. The symbols of a row may repeat, as long as the first two
  /// rows hold the same ones equally often. The last row's two symbols must be among these, and may
  /// be equal. The answer is the smallest of those first-row symbols that the last row has least
  /// often.
  kPublished,
};

/// Whether the first eight panels of an instance leave its answer open. An explanation matches each
/// position of the last column with one position of each other column, one to one, and chooses a
/// rule that the resulting feature obeys. So it has an answer for every position
/// (src/tasks/README.md, "Symbolic Raven matrices").
struct SravenAmbiguity {
  /// The meaning of [S25]: some explanation answers every position wrongly. At K = 4, F = 8 that
  /// holds for 0.244 % of instances under the published explanations ([S25] has 0.26 % of 4096),
  /// and for 0.215 % under the possible ones.
  bool every_feature_wrong = false;
  /// Some explanation answers at least one position wrongly (25.2 %, and 24.4 %). With possible
  /// explanations this says that the true answer is not the only possible one.
  bool some_feature_wrong = false;
};

/// Judges one instance; any rule set may explain it. Unpermuted data (options.permuted = false) is
/// explained position by position, by rules in the sorted order. Cost: the number of explanations,
/// at most (K!)^2 8^K; 1.6 in the mean at K = 4, F = 8.
SravenAmbiguity check_sraven_ambiguity(
    const SravenOptions& options, const SravenInstance& instance,
    SravenExplanations explanations = SravenExplanations::kPublished);

}  // namespace headway::tasks
