#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "checkpoint_fault.hpp"
#include "computation.hpp"
#include "headway/core/output_path.hpp"
#include "headway/core/ranks.hpp"
#include "headway/observer.hpp"
#include "headway/provenance.hpp"
#include "headway/result_file.hpp"
#include "headway/shard.hpp"
#include "headway/study.hpp"
#include "headway/study_file.hpp"
#include "verb.hpp"

namespace headway::cli {

/// Has a file and a JSON object of its own (results/result_fields.hpp).
template <class Result>
concept IsResult = requires {
  Result::kVerb;
};

/// What every computation has before it computes; verbs add what they need.
struct Job {
  Study study;
  io::StudyOrigin origin = io::StudyOrigin::kStudyFile;
  Shard shard = {};  ///< the part of the study that is computed
  ResultProvenance provenance;
  bool overwrite = false;  ///< the output may exist: --force, or this run continues it
  std::function<void()> remove_checkpoints = {};  ///< called when the result is complete
  std::shared_ptr<void> lock = {};  ///< keeps other runs from the output (io::OutputLock)
  double earlier_seconds = 0.0;     ///< of calls whose work this one continues
  std::shared_ptr<CheckpointFault> fault = std::make_shared<CheckpointFault>();
};

/// "7 points, 1.2 s, result in four.h5"
std::string closing_line(const Options& options, const Outcome& outcome);

/// The steps in which verbs differ; carry_out() calls them in order. JobType derives from Job.
/// Empty steps are skipped.
template <class JobType, class Result>
struct Course {
  /// The study, with its overlays; data come later.
  std::function<JobType(const Options&)> load;
  /// Reads or makes the data and finds every fault that can be found before computing; returns
  /// their hash.
  std::function<std::string(const Options&, JobType&, Observer&)> read_data;
  /// Whether the existing output was left by an interrupted run of this job, which this run then
  /// continues. Empty if the verb cannot be resumed.
  std::function<bool(const Options&, const JobType&)> goes_on = {};
  /// Refuses further files that could not be written.
  std::function<void(const Options&, const JobType&)> check_exports = {};
  /// What --dry-run prints: sizes and costs, as text or as one JSON object.
  std::function<std::string(const Options&, const JobType&)> plan;
  std::function<Result(const Options&, JobType&, Observer&)> compute;
  std::function<Outcome(const Result&)> outcome;
  /// The result file; may be empty where Result has a file of its own (IsResult).
  std::function<void(const Options&, const JobType&, const Result&)> write = {};
  /// Further files.
  std::function<void(const Options&, const JobType&, const Result&)> write_exports = {};
  /// Standard output: `table`, or with --json that of the result. Or `print` says both.
  std::function<std::string(const Study&, const Result&)> table = {};
  std::function<std::string(const Options&, const JobType&, const Result&)> print = {};
  /// The last line on standard error; "" for none.
  std::function<std::string(const Options&, const Outcome&)> closing = &closing_line;
  /// `compute` on one of several ranks, which all call it: returns the result on the first, nothing
  /// on the others. Empty: a verb that ranks do not share.
  std::function<std::optional<Result>(const Options&, JobType&, Observer&)> share = {};
};

/// The kind of the file that a Result is written to; "" where it is no result file.
template <class Result>
constexpr std::string_view kind_of_result() {
  if constexpr (requires { Result::kVerb; }) {
    return Result::kVerb;
  } else {
    return "";
  }
}

/// Refuses an output that cannot be written, before data are read: one of the inputs, an existing
/// file (unless --force or `may_continue`), a folder without permission. A result may be replaced
/// by one of its own `kind`, computed again; those of other verbs are inputs.
void check_output_early(const Options& options, const Job& job, std::string_view kind,
                        bool may_continue);

/// check_output_path() of the output. Its folder is made if it is missing; a dry run makes no
/// folder and then checks nothing.
void check_output(const Options& options, bool overwrite);

/// The lock of the output of a run with checkpoints; null where nothing is written. Error as
/// io::OutputLock.
std::shared_ptr<void> lock_output(const Options& options);

/// Whether the existing output is the partial result of an interrupted run of this study and data.
bool is_partial_result_of(const Options& options, const Job& job);

/// Whether the existing output is a result of another kind.
bool is_result_of_another_verb(const Options& options, std::string_view kind);

/// Error{kCannotWrite}, naming what differs, if the existing output is the partial result of
/// another run than this job. `kind`: of the result of this job.
void refuse_partial_of_another_run(const Options& options, const Job& job, std::string_view kind);

/// Whether --set gives the key.
bool is_set(const Options& options, const std::string& key);

/// Warns of those keys that the command line sets, although nothing here looks at them.
void warn_of_unused(const Options& options, const std::vector<std::string>& keys,
                    const std::string& why, Observer& observer);

/// Version, BLAS, threads and instruction sets, for -v.
void note_environment(const Study& study, Observer& observer);

/// The study of the command line: that of Options::study_text where there is one.
io::LoadedStudy study_of(const Options& options);

/// The same for Course::load.
template <class JobType>
JobType load_study(const Options& options) {
  io::LoadedStudy loaded = study_of(options);
  JobType job;
  job.study = std::move(loaded.study);
  job.origin = loaded.origin;
  return job;
}

/// Whether the output that is there now was left by an interrupted run of this job.
template <class JobType, class Result>
bool continues(const Options& options, const Course<JobType, Result>& course, const JobType& job) {
  return course.goes_on != nullptr &&
         !is_result_of_another_verb(options, kind_of_result<Result>()) &&
         course.goes_on(options, job);
}

/// Everything up to the computation: all faults of study, data and output show here.
template <class JobType, class Result>
JobType prepare(const Options& options, const Course<JobType, Result>& course, Observer& observer) {
  JobType job = course.load(options);
  if (!options.shard.empty()) job.shard = headway::read_shard(options.shard);
  note_environment(job.study, observer);
  const bool writes = !options.output.empty();
  if (writes) check_output_early(options, job, kind_of_result<Result>(), course.goes_on != nullptr);
  if (course.goes_on != nullptr) job.lock = lock_output(options);
  if (writes && !options.output.ends_with(".h5") && !options.output.ends_with(".hdf5")) {
    observer.warning(options.output + ": is written as HDF5, although its name ends otherwise");
  }
  const std::string data_hash = course.read_data(options, job, observer);
  job.provenance = headway::make_provenance(job.study, data_hash, options.command);
  if (!options.shard.empty()) job.provenance.shard = headway::shard_text(job.shard);
  const bool goes_on = writes && !options.force && continues(options, course, job);
  job.overwrite = options.force || goes_on;
  if (goes_on) job.earlier_seconds = io::read_result_provenance(options.output).seconds;
  if (course.check_exports) course.check_exports(options, job);
  if (writes && course.goes_on != nullptr && !job.overwrite) {
    refuse_partial_of_another_run(options, job, kind_of_result<Result>());
  }
  if (writes) check_output(options, job.overwrite);
  return job;
}

/// What a finished job lends to other verbs; null unless it is a job of the theory, and all of it.
template <class Finished>
std::shared_ptr<const Reusable> reusable_of(const std::shared_ptr<Finished>& finished) {
  if (!finished->job.provenance.shard.empty()) return nullptr;
  if constexpr (requires {
                  finished->job.dataset;
                  finished->job.known;
                }) {
    std::shared_ptr<const SolveResult> solved;
    std::shared_ptr<const SampleResult> sampled;
    if constexpr (std::is_same_v<decltype(finished->result), SampleResult>) {
      sampled = {finished, &finished->result};
    }
    if constexpr (requires { finished->result.solve; }) {
      solved = {finished, &finished->result.solve};
    } else if constexpr (std::is_convertible_v<decltype(&finished->result), const SolveResult*>) {
      solved = {finished, &finished->result};
    } else {
      return nullptr;
    }
    return std::make_shared<const Reusable>(Reusable{finished->job.study,
                                                     {finished, &finished->job.dataset},
                                                     std::move(solved),
                                                     std::move(sampled)});
  }
  return nullptr;
}

/// A job that is done, with all that can be made of it.
template <class JobType, class Result>
struct Finished {
  Options options;
  Course<JobType, Result> course;
  JobType job;
  Result result;
};

/// The result file. What lies there is looked at again: since this run began, another may have
/// finished the same job, and its whole result stays.
template <class JobType, class Result>
void write_result_file(const Finished<JobType, Result>& all) {
  if (all.course.write) {
    all.course.write(all.options, all.job, all.result);
  } else if constexpr (IsResult<Result>) {
    const bool overwrite =
        all.options.force || (all.job.overwrite && continues(all.options, all.course, all.job));
    io::write_result(all.options.output, all.job.study, all.result, all.job.provenance, overwrite);
  }
}

/// What goes to standard output.
template <class JobType, class Result>
std::string printed_text(const Finished<JobType, Result>& all) {
  if (all.course.print) return all.course.print(all.options, all.job, all.result);
  if constexpr (IsResult<Result>) {
    if (all.options.json) return io::result_json(all.job.study, all.result) + "\n";
  }
  return all.course.table(all.job.study, all.result);
}

/// What can be made of a result.
template <class JobType, class Result>
Computation computation_of(const std::shared_ptr<Finished<JobType, Result>>& all) {
  const Options& options = all->options;
  const Course<JobType, Result>& course = all->course;
  Computation done;
  done.outcome = course.outcome(all->result);
  ResultProvenance& provenance = all->job.provenance;
  provenance.threads = done.outcome.threads;
  provenance.seconds = done.outcome.seconds;
  provenance.partial = done.outcome.interrupted;
  done.provenance = provenance;
  if (done.outcome.interrupted) done.unwritten = all->job.fault->text();
  done.write_files = [all] {
    const std::shared_ptr<void> lock = std::move(all->job.lock);  // until the files are there
    if (!all->options.output.empty()) write_result_file(*all);
    if (all->course.write_exports) all->course.write_exports(all->options, all->job, all->result);
  };
  done.print = [all] { return printed_text(*all); };
  done.closing = course.closing(options, done.outcome);
  done.remove_checkpoints = all->job.remove_checkpoints;
  if constexpr (IsResult<Result>) {
    done.kind = Result::kVerb;
    done.show = [all](const ResultProvenance& origin, FieldSink& sink) {
      io::ResultOutput<Result>::show(all->job.study, all->result, origin, sink);
    };
    done.save = [all](const ResultProvenance& origin, const std::string& file_path, bool force) {
      io::write_result(file_path, all->job.study, all->result, origin, force);
    };
    done.reusable = reusable_of(all);
  }
  return done;
}

/// Course::compute. A checkpoint that cannot be written stops it as Ctrl-C does. `seconds` of the
/// result are those of all calls.
template <class JobType, class Result>
Result compute(const Options& options, const Course<JobType, Result>& course, JobType& job,
               Observer& observer) {
  FaultObserver watching(observer, *job.fault);
  try {
    Result result = course.compute(options, job, watching);
    if constexpr (requires { result.seconds; }) result.seconds += job.earlier_seconds;
    return result;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted || !job.fault->happened()) throw;
    throw Error(ErrorKind::kCannotWrite, job.fault->text());
  }
}

/// The course of every computing verb up to its result: prepare, plan or compute.
template <class JobType, class Result>
Computation carry_out(const Options& options, const Course<JobType, Result>& course,
                      Observer& observer) {
  JobType prepared = prepare(options, course, observer);
  if (options.dry_run) {
    Computation done;
    done.plan = course.plan(options, prepared);
    return done;
  }
  const auto all = std::make_shared<Finished<JobType, Result>>(
      Finished<JobType, Result>{options, course, std::move(prepared), Result{}});
  all->result = compute(options, course, all->job, observer);
  return computation_of(all);
}

/// Computes with progress on standard error, then deliver(). Returns the exit code.
int run_computation(const Options& options, const Compute& compute);

/// The same on one of several ranks, of which the first alone prints and writes.
int run_on_ranks(const Options& options, const Share& share);

/// Prints the plan of a dry run; else writes files, prints the result and says how it went. Then
/// removes the checkpoints. Returns the exit code.
int deliver(const Options& options, const Computation& done, Observer& observer);

/// Error{kUsage}, on the first of several ranks, of a verb that they do not share.
int refuse_ranks(Ranks& ranks);

/// `verb` with `course` as what it does. Verbs that ranks share: make_shared_verb()
/// (rank_course.hpp).
template <class JobType, class Result>
Verb make_verb(Verb verb, Course<JobType, Result> course) {
  verb.takes = Takes::kComputes;
  verb.compute = [course](const Options& options, Observer& observer) {
    return carry_out(options, course, observer);
  };
  return verb;
}

}  // namespace headway::cli
