#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headway/core/observer.hpp"
#include "headway/io/result_file.hpp"
#include "headway/io/study_file.hpp"
#include "headway/studies/results.hpp"
#include "headway/studies/study.hpp"
#include "headway/tasks/dataset.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace headway::cli {

/// What a computing verb needs before it computes.
struct Job {
  studies::Study study;
  tasks::Dataset dataset;
  std::optional<studies::SolveResult> known;  ///< of the result file given as input, if it fits
  io::ResultProvenance provenance;
  bool overwrite = false;  ///< the output may exist: --force, or this run goes on where it stopped
};

/// How a computation ended, as far as every verb has it.
struct Outcome {
  std::size_t points = 0;
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
  std::vector<std::string> faults;  ///< what keeps it from being usable, one line a point
};

/// Reads the study with its overlays, checks the output path, reads or makes the data, checks that
/// they fit each other and the memory of this machine. With `reuse`, a result file given as input
/// lends its order parameters when study and data are the same; with `samples`, a partial result
/// of the same study and data at the output path may be replaced by its continuation.
struct Preparation {
  bool reuse = false;
  bool samples = false;  ///< makes draws: they need memory, and an interrupted run goes on
};
Job prepare(const Options& options, Preparation how, TerminalObserver& observer);

/// --set, --seed and --threads as overlays of a study.
std::vector<std::string> overlays_of(const Options& options);

/// The study with --set, --seed and --threads applied, and what kind of file it came from.
io::LoadedStudy load_study(const Options& options);

/// Error{kCannotWrite} when the output would replace what the computation reads. A result may be
/// replaced by its rerun.
void refuse_input_as_output(const Options& options, const io::LoadedStudy& loaded);

/// Version, BLAS, threads and instruction sets, for -v.
void note_environment(const studies::Study& study, Observer& observer);

/// Is the file what an interrupted run of this study on these data left there?
bool is_partial_result_of(const std::string& file_path, const io::ResultProvenance& provenance);

/// The study alone, with --set, --seed and --threads applied.
studies::Study resolve_study(const Options& options);

/// The outcome of a verb whose points are those of its solve: each must be converged and finite.
Outcome solve_outcome(const studies::SolveResult& result, double seconds);

/// Prints what --dry-run promises.
int print_plan(const Options& options, const Job& job, const std::string& verb);

/// Prints the warnings and the closing line; returns the exit code of a finished computation.
int conclude(const Options& options, const Outcome& outcome, TerminalObserver& observer);

/// How a verb computes, stores and shows its result.
template <class Result>
struct VerbSteps {
  std::string name;
  Preparation preparation;
  std::function<Result(const Job&, Observer&)> compute;
  void (*write)(const std::string&, const studies::Study&, const Result&,
                const io::ResultProvenance&, bool);
  std::string (*json)(const studies::Study&, const Result&);
  std::string (*table)(const studies::Study&, const Result&);
  Outcome (*outcome)(const Result&);
};

/// The course of every computing verb: prepare, compute, write the file, print, exit code.
template <class Result>
int run_verb(const Options& options, const VerbSteps<Result>& steps) {
  TerminalObserver observer(options.quiet, options.verbose);
  Job job = prepare(options, steps.preparation, observer);
  if (options.dry_run) return print_plan(options, job, steps.name);
  const Result result = steps.compute(job, observer);
  const Outcome outcome = steps.outcome(result);
  if (!options.output.empty()) {
    job.provenance.threads = outcome.threads;
    job.provenance.seconds = outcome.seconds;
    job.provenance.partial = outcome.interrupted;
    steps.write(options.output, job.study, result, job.provenance, job.overwrite);
  }
  write_output(options.json ? steps.json(job.study, result) + "\n"
                            : steps.table(job.study, result));
  return conclude(options, outcome, observer);
}

}  // namespace headway::cli
