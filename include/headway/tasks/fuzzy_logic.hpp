#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headway/core/option_table_fwd.hpp"
#include "headway/core/words.hpp"
#include "headway/types.hpp"

namespace headway::tasks {

/// Where the inputs of an example come from. Fixed parts are the same in every example of every
/// split, so that latent codes can be compared.
enum class FuzzyLogicInputs {
  kUniform,       ///< context and query are drawn anew for every example
  kFixedContext,  ///< the S - 1 context inputs are fixed, the query is drawn
  kFixedQuery,    ///< the query is fixed, the context is drawn
};
Words<FuzzyLogicInputs> words_of(FuzzyLogicInputs);

/// train has tasks of known terms, and validation fresh examples of the same tasks. held_out has
/// the other tasks of known terms: their terms were all seen in training, but not together.
/// unknown_terms has tasks of terms that no training or held-out task has.
enum class FuzzyLogicSplit { kTrain, kValidation, kHeldOut, kUnknownTerms };

/// Fuzzy logic in context [S25, figure 2] (src/tasks/README.md, eq. 4). Defaults are the paper's.
///
/// A term is a conjunction of all V variables, each as it is or negated. Terms are counted from 0
/// in lexicographic order: variable v (from 0) of term t is as it is where bit V - 1 - v of t is
/// set. The last 2^V / 4 terms are the unknown ones. A task is a set of K terms, and its value is
/// their disjunction.
struct FuzzyLogicOptions {
  int variables = 4;           ///< V, from 2 to 10
  int terms_per_task = 2;      ///< K, from 1 to the number of unknown terms 2^V / 4
  Index sequence_length = 64;  ///< S, all tokens with the query; at least 2
  double held_out = 0.7;       ///< share of the tasks of known terms that training never sees
  FuzzyLogicInputs inputs = FuzzyLogicInputs::kUniform;
  std::uint64_t seed = 0;  ///< of the split and of every example
  /// Draws another split if a known term is in no training task, because a network could not learn
  /// that term. At V = 4, K = 2 this rejects 14.4 % of the splits with 20 of 66 training tasks.
  bool reject_uncovered = true;

  static const OptionTable<FuzzyLogicOptions>& table();  ///< [task] kind = "fuzzy_logic"
  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
};

/// The tasks of each split: increasing lists of K terms, in lexicographic order.
struct FuzzyLogicTasks {
  std::vector<std::vector<int>> train;          ///< C(known, K) - floor(held_out C(known, K)), of
                                                ///< validation too
  std::vector<std::vector<int>> held_out;       ///< floor(held_out C(known, K))
  std::vector<std::vector<int>> unknown_terms;  ///< C(2^V / 4, K)
  int redraws = 0;  ///< splits rejected before this one because they left a term uncovered
  std::vector<int> uncovered_terms;  ///< known terms in no training task; filled if not rejected

  [[nodiscard]] const std::vector<std::vector<int>>& of(FuzzyLogicSplit split) const;
};

/// Splits the tasks with the streams (options.seed, kSplits, attempt). Error{kBadStudy} also when
/// no split, or none of 10,000, leaves every known term in training. Cost: C(known, K) a redraw.
FuzzyLogicTasks split_fuzzy_logic_tasks(const FuzzyLogicOptions& options);

/// Zadeh's fuzzy logic (src/tasks/README.md, eq. 4): max over `terms` of min over variables v of
/// (x_v or 1 - x_v), V = x.size(). On x in {0, 1}^V this is the Boolean disjunction of
/// conjunctions. Cost: K V.
float evaluate_fuzzy_logic(std::span<const int> terms, std::span<const float> x);

/// One example.
struct FuzzyLogicExample {
  std::vector<float> inputs;   ///< [S, V + 1]: token s is (x_s, y_s); the last y is 0
  std::vector<float> targets;  ///< [S]: y of every token, of the query too
  Index task = 0;              ///< position in FuzzyLogicTasks::of(split)
  /// The y of the query, which the network is to predict.
  [[nodiscard]] float target() const { return targets.back(); }
};

/// B examples of one split, with the examples first: inputs [B, S, V + 1], targets [B, S], tasks
/// [B].
struct FuzzyLogicBatch {
  std::vector<float> inputs;
  std::vector<float> targets;
  std::vector<Index> tasks;
};

/// Draws examples. Any example of any split can be had at any time and on any thread: example i
/// comes from its own stream, (seed, purpose of the split, i), with kTrainExamples,
/// kValidationExamples, kHeldOutExamples or kUnknownTermExamples. The task is drawn first, then
/// inputs token by token, one 32-bit word each.
/// Inputs are k 2^-24 with k uniform on {0, ..., 2^24 - 1}: uniform on [0, 1), and 1 - x has no
/// rounding. Fixed inputs are drawn once, token by token, from (seed, kTaskParameters, 0). Cost of
/// an example: S V words, and S K V operations.
class FuzzyLogicGenerator {
 public:
  explicit FuzzyLogicGenerator(const FuzzyLogicOptions& options);

  [[nodiscard]] const FuzzyLogicOptions& options() const { return options_; }
  [[nodiscard]] const FuzzyLogicTasks& tasks() const { return tasks_; }
  [[nodiscard]] Index features() const { return options_.variables + 1; }

  /// Example `index` >= 0 of `split`; the memory of `out` is used again.
  void example(FuzzyLogicSplit split, Index index, FuzzyLogicExample& out) const;
  /// Examples first, ..., first + count - 1.
  void batch(FuzzyLogicSplit split, Index first, Index count, FuzzyLogicBatch& out) const;

 private:
  Index fill(FuzzyLogicSplit split, Index index, std::span<float> inputs,
             std::span<float> targets) const;

  FuzzyLogicOptions options_;
  FuzzyLogicTasks tasks_;
  std::vector<float> fixed_inputs_;  // [S, V], empty when all inputs are drawn
};

}  // namespace headway::tasks
