#include <fmt/format.h>

#include <cstdint>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/error.hpp"
#include "headway/tasks/fuzzy_logic.hpp"
#include "tasks/set_splits.hpp"

namespace headway::tasks {
namespace {

constexpr int kMostVariables = 10;
constexpr int kMostUnknownTerms = 1 << (kMostVariables - 2);
constexpr Index kLongestSequence = 1'000'000;
constexpr double kMostTasks = 1e6;

int term_count(const FuzzyLogicOptions& options) { return 1 << options.variables; }
int unknown_count(const FuzzyLogicOptions& options) { return term_count(options) / 4; }
int known_count(const FuzzyLogicOptions& options) {
  return term_count(options) - unknown_count(options);
}

void require_coverable(const FuzzyLogicOptions& options, Index train) {
  const Index known = known_count(options);
  if (options.reject_uncovered && train * options.terms_per_task < known) {
    throw OptionError(
        fmt::format("task.held_out = {}: must be smaller: it leaves {} training tasks of {} terms, "
                    "too few to have all {} known terms. Or set reject_uncovered = false",
                    options.held_out, train, options.terms_per_task, known),
        {"task.held_out", "task.terms_per_task", "task.variables"});
  }
}

}  // namespace

Words<FuzzyLogicInputs> words_of(FuzzyLogicInputs) {
  static constexpr Word<FuzzyLogicInputs> kWords[] = {
      {"uniform", FuzzyLogicInputs::kUniform},
      {"fixed_context", FuzzyLogicInputs::kFixedContext},
      {"fixed_query", FuzzyLogicInputs::kFixedQuery}};
  return kWords;
}

const OptionTable<FuzzyLogicOptions>& FuzzyLogicOptions::table() {
  using F = FuzzyLogicOptions;
  static const OptionTable<F> table = {{
      option("variables", &F::variables, integer<int>(2, kMostVariables),
             "variables V of the formulas; there are 2^V terms"),
      option("terms_per_task", &F::terms_per_task, integer<int>(1, kMostUnknownTerms),
             "terms K of a task; at most the 2^V / 4 unknown terms"),
      option("sequence_length", &F::sequence_length, integer<Index>(2, kLongestSequence),
             "tokens S of an example, the query included"),
      option("held_out", &F::held_out, real(0.0, 1.0),
             "share of the tasks of known terms that training never sees. Raise it to ask for more "
             "generalisation."),
      option("inputs", &F::inputs, choice<FuzzyLogicInputs>(),
             "inputs of an example: all drawn anew, or with the same context or query in all "
             "examples"),
      option("reject_uncovered", &F::reject_uncovered, flag(),
             "draw the split again if it leaves a known term in no training task"),
  }};
  return table;
}

void FuzzyLogicOptions::validate() const {
  check_options(table(), *this, "task");
  if (terms_per_task > unknown_count(*this)) {
    throw OptionError(
        fmt::format(
            "task.terms_per_task = {}: must be at most {}, the unknown terms of {} variables",
            terms_per_task, unknown_count(*this), variables),
        {"task.terms_per_task", "task.variables"});
  }
  const double tasks = detail::binomial(known_count(*this), terms_per_task);
  if (tasks > kMostTasks) {
    throw OptionError(fmt::format("task.terms_per_task = {}: makes {:.0f} tasks of {} known terms: "
                                  "must make at most {:.0f}. Take fewer variables or terms",
                                  terms_per_task, tasks, known_count(*this), kMostTasks),
                      {"task.terms_per_task", "task.variables"});
  }
  const auto count = static_cast<Index>(tasks);
  const Index train = count - detail::held_out_count(held_out, count);
  if (train < 1 || train == count) {
    throw OptionError(
        fmt::format("task.held_out = {}: leaves {} of {} tasks for training and {} held "
                    "out: each must have at least one",
                    held_out, train, count, count - train),
        {"task.held_out", "task.terms_per_task", "task.variables"});
  }
  require_coverable(*this, train);
}

const std::vector<std::vector<int>>& FuzzyLogicTasks::of(FuzzyLogicSplit split) const {
  switch (split) {
    case FuzzyLogicSplit::kTrain:
    case FuzzyLogicSplit::kValidation:
      return train;
    case FuzzyLogicSplit::kHeldOut:
      return held_out;
    case FuzzyLogicSplit::kUnknownTerms:
      return unknown_terms;
  }
  throw Error(ErrorKind::kInternal, "fuzzy_logic: unknown split");
}

FuzzyLogicTasks split_fuzzy_logic_tasks(const FuzzyLogicOptions& options) {
  options.validate();
  const int known = known_count(options);
  detail::SetSplit split =
      detail::split_sets(detail::subsets(0, known, options.terms_per_task), known, options.held_out,
                         options.reject_uncovered, options.seed);
  FuzzyLogicTasks tasks;
  tasks.train = std::move(split.train);
  tasks.held_out = std::move(split.held_out);
  tasks.unknown_terms = detail::subsets(known, unknown_count(options), options.terms_per_task);
  tasks.redraws = split.redraws;
  tasks.uncovered_terms = std::move(split.uncovered);
  return tasks;
}

}  // namespace headway::tasks
