#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headway/core/observer.hpp"
#include "headway/core/ranks.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/result_file.hpp"
#include "headway/io/study_file.hpp"
#include "headway/studies/provenance.hpp"
#include "headway/studies/shards.hpp"
#include "headway/studies/study.hpp"
#include "terminal.hpp"
#include "verb.hpp"

namespace headway::cli {

/// What every computation has before it computes; verbs add what they need.
struct Job {
  studies::Study study;
  io::StudyOrigin origin = io::StudyOrigin::kStudyFile;
  studies::Shard shard = {};  ///< the part of the study that is computed
  studies::ResultProvenance provenance;
  bool overwrite = false;  ///< the output may exist: --force, or this run goes on where it stopped
  std::function<void()> remove_checkpoints = {};  ///< called when nothing is left to go on with
};

/// How a computation ended.
struct Outcome {
  std::string done;  ///< "7 points": what was computed, for the closing line
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
  std::vector<std::string> faults = {};  ///< what keeps it from being usable, one line each
};

/// "7 points, 1.2 s, result in four.h5"
std::string closing_line(const Options& options, const Outcome& outcome);

template <class JobType, class Result>
struct Course;

/// How the ranks that mpirun starts share a verb's work: each computes single units of it, as
/// `--shard` does with as many parts as there are units.
template <class JobType, class Result>
struct Sharing {
  /// run_shared() of shared_course.hpp; null where a verb is not shared.
  int (*run)(const Options&, const Course<JobType, Result>&) = nullptr;
  const char* unit_name = "";  ///< for progress
  std::function<std::size_t(const JobType&)> units = {};
  /// Makes the study ready on this rank; the rest computes a part of it.
  std::function<std::function<Result(const studies::Shard&)>(const Options&, JobType&, Observer&)>
      prepare = {};
  std::function<Result(const std::string& file)> read = {};
  /// What is printed before the whole.
  std::function<void(const Options&, const Result&)> merged = {};
};

/// The steps in which verbs differ; run_course() says when each is taken. JobType is a Job with
/// more members. Steps that are left empty are skipped.
template <class JobType, class Result>
struct Course {
  /// The study, with its overlays; data come later.
  std::function<JobType(const Options&)> load;
  /// Reads or makes the data and finds every fault that can be found before computing; returns
  /// their hash.
  std::function<std::string(const Options&, JobType&, Observer&)> read_data;
  /// Is the existing output what an interrupted run of this job left? Empty: there is no going on.
  std::function<bool(const Options&, const JobType&)> goes_on = {};
  /// Refuses further files that could not be written.
  std::function<void(const Options&, const JobType&)> check_exports = {};
  /// What --dry-run prints: sizes and costs, as text or as one JSON object.
  std::function<std::string(const Options&, const JobType&)> plan;
  std::function<Result(const Options&, JobType&, TerminalObserver&)> compute;
  std::function<Outcome(const Result&)> outcome;
  /// The result file.
  std::function<void(const Options&, const JobType&, const Result&)> write;
  /// Further files.
  std::function<void(const Options&, const JobType&, const Result&)> write_exports = {};
  /// Standard output: a table, or JSON.
  std::function<std::string(const Options&, const JobType&, const Result&)> print;
  /// The last line on standard error; "" for none.
  std::function<std::string(const Options&, const Outcome&)> closing = &closing_line;
  Sharing<JobType, Result> sharing = {};
};

/// Refuses what cannot become the output before data are read: the inputs, an existing file unless
/// --force or `may_continue`, a folder that cannot be written.
void check_output_early(const Options& options, const Job& job, bool may_continue);

/// Is the existing output what an interrupted run of this study on these data left there?
bool is_partial_result_of(const Options& options, const Job& job);

/// Version, BLAS, threads and instruction sets, for -v.
void note_environment(const studies::Study& study, Observer& observer);

/// The exit code of a finished computation.
int exit_code(const Outcome& outcome);

/// The study of the command line, for Course::load.
template <class JobType>
JobType load_study(const Options& options) {
  io::LoadedStudy loaded = io::read_study(options.input, options.study_overlays());
  JobType job;
  job.study = std::move(loaded.study);
  job.origin = loaded.origin;
  return job;
}

/// The result file, for Course::write.
template <class JobType, class Result>
void write_result_file(const Options& options, const JobType& job, const Result& result) {
  io::write_result(options.output, job.study, result, job.provenance, job.overwrite);
}

/// Everything up to the computation: all faults of study, data and output show here.
template <class JobType, class Result>
JobType prepare(const Options& options, const Course<JobType, Result>& course, Observer& observer) {
  JobType job = course.load(options);
  if (!options.shard.empty()) job.shard = studies::read_shard(options.shard);
  note_environment(job.study, observer);
  const bool writes = !options.output.empty();
  if (writes) check_output_early(options, job, course.goes_on != nullptr);
  const std::string data_hash = course.read_data(options, job, observer);
  job.provenance = studies::make_provenance(job.study, data_hash, options.command);
  if (!options.shard.empty()) job.provenance.shard = studies::shard_text(job.shard);
  job.overwrite =
      options.force || (writes && course.goes_on != nullptr && course.goes_on(options, job));
  if (course.check_exports) course.check_exports(options, job);
  if (writes) io::check_output_path(options.output, job.overwrite);
  return job;
}

/// What follows the computation: write the files, print, say how it went; the exit code.
/// Checkpoints go when the result is out.
template <class JobType, class Result>
int finish_course(const Options& options, const Course<JobType, Result>& course, JobType& job,
                  const Result& result, Observer& observer) {
  const Outcome outcome = course.outcome(result);
  job.provenance.threads = outcome.threads;
  job.provenance.seconds = outcome.seconds;
  job.provenance.partial = outcome.interrupted;
  if (!options.output.empty()) course.write(options, job, result);
  if (course.write_exports) course.write_exports(options, job, result);
  write_output(course.print(options, job, result));
  for (const std::string& fault : outcome.faults) observer.warning(fault);
  const std::string closing = course.closing(options, outcome);
  if (!options.quiet && !closing.empty()) write_message("headway: " + closing);
  if (job.remove_checkpoints && !outcome.interrupted) job.remove_checkpoints();
  return exit_code(outcome);
}

/// The course of every computing verb: prepare, plan or compute, finish.
template <class JobType, class Result>
int run_course(const Options& options, const Course<JobType, Result>& course) {
  TerminalObserver observer(options.quiet, options.verbose);
  JobType job = prepare(options, course, observer);
  if (options.dry_run) {
    write_output(course.plan(options, job));
    return kExitOk;
  }
  const Result result = course.compute(options, job, observer);
  return finish_course(options, course, job, result, observer);
}

/// Error{kUsage}, on the first of several ranks, of a verb that they do not share.
int refuse_ranks(Ranks& ranks);

/// `verb` with `course` as what it does.
template <class JobType, class Result>
Verb make_verb(Verb verb, Course<JobType, Result> course) {
  verb.takes = Takes::kComputes;
  verb.run = [course = std::move(course)](const Options& options) {
    if (options.ranks == nullptr) return run_course(options, course);
    return course.sharing.run != nullptr ? course.sharing.run(options, course)
                                         : refuse_ranks(*options.ranks);
  };
  return verb;
}

}  // namespace headway::cli
