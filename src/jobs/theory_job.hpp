#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "course.hpp"
#include "headway/dataset.hpp"
#include "headway/theory_results.hpp"
#include "headway/verbs/theory/plan.hpp"
#include "outcomes.hpp"
#include "point_option.hpp"
#include "terminal.hpp"

namespace headway::cli {

/// What a verb of the theory needs before it computes.
struct TheoryJob : Job {
  tasks::Dataset dataset;
  std::optional<SolveResult> known;  ///< of the result file given as input, if it fits
  TheoryPlan plan;

  [[nodiscard]] const SolveResult* reused() const { return known ? &*known : nullptr; }
};

/// What verbs of the theory do differently; the rest is theory_course().
template <class Result>
struct TheorySteps {
  bool reuses = true;    ///< takes the order parameters of a result given as input
  bool goes_on = false;  ///< an interrupted run continues from its checkpoints
  /// What memory must hold: kSamples has draws beside the solution, kAligns a whole kernel.
  TheoryVerb kind = TheoryVerb::kSolves;
  std::function<Result(const Options&, TheoryJob&, Observer&)> compute;
  std::string (*table)(const Study&, const Result&);
  Outcome (*outcome)(const Result&);
  std::function<std::optional<Result>(const Options&, TheoryJob&, Observer&)> share = {};
};

/// The examples of a study: from memory where `options` has them, else read from a file or made.
tasks::Dataset theory_data(const Options& options, const Study& study);

/// Reads or makes the data set, and checks that study, data and memory fit each other. With
/// `reuses`, a result given as input lends its order parameters if study and data are the same.
std::string read_theory_data(const Options& options, TheoryJob& job, TheoryVerb kind, bool reuses,
                             Observer& observer);
std::string theory_plan(const Options& options, const TheoryJob& job, const std::string& verb);

/// Hooks that keep checkpoints beside the result, until it is complete; none without a result
/// file.
template <class Checkpoints>
auto checkpoint_hooks(const Options& options, TheoryJob& job) {
  using Hooks = decltype(std::declval<Checkpoints>().hooks());
  if (options.output.empty()) return Hooks{};
  const auto checkpoints = std::make_shared<Checkpoints>(options.output, job.study,
                                                         job.dataset.content_hash, options.force);
  job.remove_checkpoints = [checkpoints] { checkpoints->remove(); };
  if (checkpoints->resumable() > 0 && !options.quiet) {
    write_message(fmt::format("headway: resuming from {} checkpoints in {}",
                              checkpoints->resumable(), checkpoints->folder()));
  }
  job.earlier_seconds = std::max(job.earlier_seconds, checkpoints->earlier_seconds());
  Hooks hooks = checkpoints->hooks();
  // Ranks hand each other draws in checkpoints: without them they cannot go on.
  if (options.ranks == nullptr) hooks.save = watched(std::move(hooks.save), job.fault);
  return hooks;
}

template <class Result>
Course<TheoryJob, Result> theory_course(const std::string& verb, TheorySteps<Result> steps) {
  Course<TheoryJob, Result> course;
  course.load = [](const Options& options) {
    return load_study<TheoryJob>(at_named_point(options));
  };
  course.read_data = [kind = steps.kind, reuses = steps.reuses](
                         const Options& options, TheoryJob& job, Observer& observer) {
    return read_theory_data(options, job, kind, reuses, observer);
  };
  if (steps.goes_on) course.goes_on = &is_partial_result_of;
  course.plan = [verb](const Options& options, const TheoryJob& job) {
    return theory_plan(options, job, verb);
  };
  course.compute = steps.compute;
  course.outcome = steps.outcome;
  course.share = steps.share;
  course.table = steps.table;
  return course;
}

template <class Result>
Verb make_theory_verb(Verb verb, TheorySteps<Result> steps) {
  Course<TheoryJob, Result> course = theory_course(verb.name, std::move(steps));
  return make_verb(std::move(verb), std::move(course));
}

}  // namespace headway::cli
