#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "headway/core/option_table_fwd.hpp"
#include "headway/core/rng.hpp"
#include "headway/tasks/sraven_rules.hpp"
#include "headway/types.hpp"

namespace headway::tasks {

/// Stands for each symbol of the panel that is asked for.
inline constexpr std::uint8_t kSravenBlank = 255;

/// train, validation and test have the same rule sets, but streams of their own: validation and
/// test are fresh examples of the training distribution. held_out has the rule sets that training
/// never sees.
enum class SravenSplit { kTrain, kValidation, kTest, kHeldOut };

/// Symbolic Raven matrices [S25, figures 3-5] (src/tasks/README.md, "Symbolic Raven matrices").
/// Defaults are the paper's.
///
/// A rule set is a multiset of K of the 8 rules. Feature i of an instance obeys rule i of the
/// sorted set: its three rows are independent draws among the rows that obey the rule, except that
/// distribute-three draws one set of three symbols for all rows and an order for each. Then each
/// column of the grid gets a permutation of the features, shared by its three panels.
struct SravenOptions {
  int features = 4;        ///< K, from 1 to 6
  int values = 8;          ///< F, symbols of a feature, from 3 to 254
  double held_out = 0.25;  ///< share of the C(K + 7, K) rule sets that training never sees
  bool permuted = true;    ///< false: position i of every panel shows feature i
  std::uint64_t seed = 0;  ///< of the split and of every instance
  /// Draw the split again when a rule is in no training set (at K = 4 almost never needed).
  bool reject_uncovered = true;

  [[nodiscard]] Index tokens() const { return Index{kSravenPanels} * features; }  ///< S = 9 K
  static const OptionTable<SravenOptions>& table();  ///< [task] kind = "sraven"
  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
};

/// The rule sets of the splits, each sorted, in lexicographic order.
struct SravenRuleSets {
  std::vector<SravenRuleSet> train;     ///< of the validation and test splits, too
  std::vector<SravenRuleSet> held_out;  ///< floor(held_out C(K + 7, K)): 82 of 330
  int redraws = 0;                      ///< splits rejected before this one
  std::vector<SravenRule> uncovered;    ///< rules in no training set; filled if not rejected

  [[nodiscard]] const std::vector<SravenRuleSet>& of(SravenSplit split) const;
};

/// Splits the rule sets with the streams (options.seed, kSplits, attempt). Error{kBadStudy} also
/// when none of 10,000 splits leaves every rule in training.
SravenRuleSets split_sraven_rule_sets(const SravenOptions& options);

/// One instance.
struct SravenInstance {
  /// [S] = [panel, position]: panels row by row, K symbols each; the last panel is blank.
  std::vector<std::uint8_t> symbols;
  std::vector<std::uint8_t> answers;  ///< [K], by position of the last panel
  Index rule_set = 0;                 ///< position in the list that it was drawn from
  SravenRuleSet rules;                ///< [K], by feature
  /// [column][position]: the feature that is shown there; the identity in unpermuted data.
  std::array<std::vector<std::uint8_t>, kSravenSide> permutations;

  /// The rule behind the answer at `position`.
  [[nodiscard]] SravenRule rule_of_answer(std::size_t position) const {
    return rules[permutations[kSravenSide - 1][position]];
  }
};

/// Draws an instance whose rule set is uniform on `rule_sets` (all of options.features rules).
/// Order of draws: the set; feature by feature its symbols; then, where permuted, the permutations
/// of the three columns. So the same stream gives the same instance permuted and unpermuted. Of
/// distribute-three the three symbols are drawn, then the orders. Other rules are drawn row by row:
/// the first symbol, and the second for sum and difference. Cost: about 6 K draws.
void draw_sraven_instance(const SravenOptions& options, std::span<const SravenRuleSet> rule_sets,
                          Rng& rng, SravenInstance& out);

/// Writes symbols as F numbers each: out [symbols, F], 1 at the symbol and 0 elsewhere; a blank is
/// all 0. Error{kInternal} when a symbol is none of F or out has another size.
void expand_sraven_one_hot(std::span<const std::uint8_t> symbols, int values, std::span<float> out);

/// B instances: symbols [B, S], answers [B, K], rule sets and the rule of each answer [B, K].
struct SravenBatch {
  std::vector<std::uint8_t> symbols;
  std::vector<std::uint8_t> answers;
  std::vector<Index> rule_sets;
  std::vector<SravenRule> rules_of_answers;
};

/// Draws instances. Any instance of any split can be had at any time and on any thread: instance i
/// comes from its own stream, (seed, purpose of the split, i), with kTrainExamples,
/// kValidationExamples, kTestExamples or kHeldOutExamples.
class SravenGenerator {
 public:
  explicit SravenGenerator(const SravenOptions& options);

  [[nodiscard]] const SravenOptions& options() const { return options_; }
  [[nodiscard]] const SravenRuleSets& rule_sets() const { return rule_sets_; }

  /// Instance `index` >= 0 of `split`; the memory of `out` is used again.
  void example(SravenSplit split, Index index, SravenInstance& out) const;
  /// Instances first, ..., first + count - 1.
  void batch(SravenSplit split, Index first, Index count, SravenBatch& out) const;

 private:
  SravenOptions options_;
  SravenRuleSets rule_sets_;
};

}  // namespace headway::tasks
