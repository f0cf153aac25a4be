#include <fmt/format.h>

#include <cstdint>

#include "headway/core/error.hpp"
#include "headway/tasks/fuzzy_logic.hpp"
#include "tasks/option_checks.hpp"
#include "tasks/set_splits.hpp"

namespace headway::tasks {
namespace {

constexpr int kFewestVariables = 2;
constexpr int kMostVariables = 10;
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
    throw Error(ErrorKind::kBadStudy,
                fmt::format("task.held_out = {}: leaves {} training tasks of {} terms, too few to "
                            "have all {} known terms: hold out less, or set reject_uncovered = "
                            "false",
                            options.held_out, train, options.terms_per_task, known));
  }
}

}  // namespace

void FuzzyLogicOptions::validate() const {
  detail::require_count("variables", variables, kFewestVariables, kMostVariables);
  detail::require_count("terms_per_task", terms_per_task, 1, unknown_count(*this));
  detail::require_count("sequence_length", sequence_length, 2, kLongestSequence);
  detail::require_real("held_out", held_out, 0.0, 1.0);
  const double tasks = detail::binomial(known_count(*this), terms_per_task);
  if (tasks > kMostTasks) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("task.terms_per_task = {}: {:.0f} tasks of {} known terms, at most "
                            "{:.0f} (fewer variables or terms)",
                            terms_per_task, tasks, known_count(*this), kMostTasks));
  }
  const auto count = static_cast<Index>(tasks);
  const Index train = count - detail::held_out_count(held_out, count);
  if (train < 1 || train == count) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("task.held_out = {}: leaves {} of {} tasks for training and {} held "
                            "out: each must have at least one",
                            held_out, train, count, count - train));
  }
  require_coverable(*this, train);
  switch (inputs) {
    case FuzzyLogicInputs::kUniform:
    case FuzzyLogicInputs::kFixedContext:
    case FuzzyLogicInputs::kFixedQuery:
      return;
  }
  throw Error(ErrorKind::kInternal, "fuzzy_logic: unknown input distribution");
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
