#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headway/tasks/sraven.hpp"
#include "headway/types.hpp"

namespace headway::tasks {

/// The posterior over the K answers given the first eight panels.
struct SravenPosterior {
  /// The possible joint answers, K symbols each by position of the last panel, by falling
  /// probability (equal ones in lexicographic order). Empty when the prior cannot produce the
  /// panels.
  std::vector<std::vector<std::uint8_t>> answers;
  std::vector<double> probabilities;  ///< of the answers; their sum is 1
  double evidence = 0.0;              ///< probability of the eight panels under the prior

  /// The largest posterior probability of one answer: the chance that the best guess is all right.
  [[nodiscard]] double best() const { return probabilities.empty() ? 0.0 : probabilities[0]; }
  /// The same for the symbol at `position` alone, the other positions summed out.
  [[nodiscard]] double best_at(std::size_t position) const;
};

/// Exact Bayesian inference of the answers under a uniform prior on a list of rule sets.
///
/// Let x be the eight panels and y the answers, r a rule set (sorted), and q_c[j] the feature that
/// column c = 1, 2, 3 shows at position j; the q_c are independent and uniform on the K!
/// permutations. Features are independent given their rules, so
///   P(x, y) = sum_r P(r) (K!)^-3 sum_{q_1 q_2 q_3} prod_i P(feature i | r_i).
/// Feature i is the grid made of column positions u = q_1^-1[i], v = q_2^-1[i], w = q_3^-1[i]. Sum
/// over w in place of i. Let s_1 = q_1^-1 q_3 and s_2 = q_2^-1 q_3 be the alignments, which run
/// over all permutations for every q_3. Let rho[w] = r_{q_3[w]} be the rule at position w. Then
///   P(x, y) = (K!)^-3 sum_{s_1 s_2} sum_rho P(sort(rho)) m(rho) prod_w l[rho_w](s_1 w, s_2 w, w)
/// where m(rho) is the number of q_3 that give the same rho: the product, over the 8 rules, of
/// (number of times that the rule is in rho)!. l[rule](u, v, w) is the probability of the 3x3 grid:
/// grid_probability(rule) if the eight symbols and y_w follow the rule, else 0. The rule and the
/// eight symbols fix y_w: see ninth_symbol(). One table of K^3 lists of fitting rules, most of them
/// empty, holds every factor. The sum is a search over positions w that gives each an unused u, an
/// unused v and a fitting rule, and drops a branch as soon as nothing fits. Unpermuted data leaves
/// only s_1 = s_2 = identity and rho = r, of weight P(r). Cost: 8 K^3 rule checks, then the number
/// of explanations (sraven_ambiguity.hpp); 7 us at K = 4, F = 8.
class SravenBayes {
 public:
  /// Error{kInternal} when `rule_sets` is empty, or holds a set of other than options.features
  /// rules or one that is not sorted. A set that stands there twice counts twice.
  SravenBayes(const SravenOptions& options, std::span<const SravenRuleSet> rule_sets);

  /// symbols: 8 K or 9 K of them, as in SravenInstance; a last panel is not looked at.
  [[nodiscard]] SravenPosterior posterior(std::span<const std::uint8_t> symbols) const;

 private:
  SravenOptions options_;
  std::vector<double> weights_;  // P(sort(rho)) m(rho) (K!)^-3 at sum_w rho_w 8^w
};

/// The rule sets that instances are drawn from, uniformly. The solver knows them.
enum class SravenPrior { kAllRuleSets, kTrainRuleSets, kHeldOutRuleSets };

/// The best accuracy that any solver can reach, averaged over sampled instances, with standard
/// errors of the averages.
struct SravenCeiling {
  Index instances = 0;
  double accuracy = 0.0;  ///< all K answers right
  double accuracy_error = 0.0;
  double accuracy_per_feature = 0.0;  ///< one answer right, the mean over the K positions
  double accuracy_per_feature_error = 0.0;
  double several_answers = 0.0;  ///< share of the instances with more than one possible answer
  double several_answers_error = 0.0;
  /// Share of the instances that the checker of [S25] calls ambiguous: some explanation is wrong
  /// everywhere (SravenAmbiguity::every_feature_wrong).
  double every_feature_wrong = 0.0;
  double every_feature_wrong_error = 0.0;
};

/// Averages SravenPosterior::best() and best_at() over `instances` >= 2 instances drawn from the
/// prior itself: instance i from the stream (options.seed, kCeilingExamples, i). This is the
/// expected accuracy of the best guess given the panels, less noisy than counting right guesses.
/// `threads` as in parallel_for(); the result does not depend on it.
SravenCeiling sraven_ceiling(const SravenGenerator& generator, SravenPrior prior, Index instances,
                             int threads = 1);

}  // namespace headway::tasks
