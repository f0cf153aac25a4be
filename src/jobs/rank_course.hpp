#pragma once

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "course.hpp"
#include "headway/checkpoints.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/quiet_observer.hpp"
#include "headway/error.hpp"
#include "headway/schedule.hpp"
#include "terminal.hpp"

namespace headway::cli {

/// prepare() on one of several ranks. Only the first looks at the output.
template <class JobType, class Result>
JobType prepare_on_rank(const Options& options, const Course<JobType, Result>& course,
                        Observer& observer) {
  Options mine = options;
  if (!options.ranks->is_first()) mine.output.clear();
  JobType job = prepare(mine, course, observer);
  if (!options.shard.empty()) {
    const bool one_problem = job.study.solve.kernels == theory::KernelForm::kDistributed;
    throw Error(ErrorKind::kUsage,
                one_problem ? "--shard: cannot be used with solve.kernels = \"distributed\""
                            : "--shard: cannot be used on several ranks (mpirun), which share the "
                              "work themselves");
  }
  job.study.threads = threads_of_rank(job.study.threads, *options.ranks);
  return job;
}

/// What ranks must agree on before they share it.
template <class Result>
std::string identity_of(const Job& job) {
  std::string verb;
  if constexpr (IsResult<Result>) verb = Result::kVerb;
  return verb + " " + job.provenance.study_hash + " " + job.provenance.data_hash;
}

/// carry_out() on one of several ranks up to the result, which the first has; nothing on the
/// others.
template <class JobType, class Result>
std::optional<Computation> compute_on_rank(const std::shared_ptr<Finished<JobType, Result>>& all,
                                           Observer& observer) {
  const Options& options = all->options;
  Ranks& ranks = *options.ranks;
  const auto make_ready = [&] {
    all->job = prepare_on_rank(options, all->course, observer);
    return identity_of<Result>(all->job);
  };
  if (!agree_alike(ranks, make_ready)) return std::nullopt;
  if (options.dry_run) {
    Computation done;
    done.plan = all->course.plan(options, all->job);
    return done;
  }
  std::optional<Result> result = all->course.share(options, all->job, observer);
  if (!result) return std::nullopt;
  all->result = *std::move(result);
  all->result.seconds += all->job.earlier_seconds;
  return computation_of(all);
}

/// The same for a caller who wants the result on every rank (Options::everywhere). The first also
/// writes the files, so that they are there when the others go on. A result that ranks do not send
/// each other (Gram matrices) is its file alone: the others return an empty Computation.
template <class JobType, class Result>
std::optional<Computation> compute_everywhere(const std::shared_ptr<Finished<JobType, Result>>& all,
                                              Observer& observer) {
  Ranks& ranks = *all->options.ranks;
  std::optional<Computation> done;
  const auto compute_first = [&] {
    done = compute_on_rank(all, observer);
    if (all->options.dry_run) return std::string();
    done->write_files();
    if (done->remove_checkpoints && !done->outcome.interrupted) done->remove_checkpoints();
    if constexpr (io::SharedResult<Result>) {
      return io::result_bytes(all->job.study, all->result, done->provenance);
    } else {
      return std::string();
    }
  };
  const auto compute_other = [&] {
    try {
      done = compute_on_rank(all, observer);
    } catch (const std::exception& error) {  // the first would wait for this rank for ever
      write_message(fmt::format("headway: rank {}: {}", ranks.rank(), error.what()));
      ranks.abort(static_cast<int>(ErrorKind::kInternal));
    }
    return std::string();
  };
  const std::string bytes =
      ranks.is_first() ? from_first(ranks, compute_first) : from_first(ranks, compute_other);
  if (ranks.is_first() || all->options.dry_run) return done;
  if constexpr (io::SharedResult<Result>) {
    all->result = io::read_shared_result<Result>("", bytes);
    all->job.provenance = io::read_result_provenance_of(bytes);
    return computation_of(all);
  } else {
    return Computation();
  }
}

/// carry_out() on one of several ranks, which all call it: the result on the first, nothing on the
/// others, unless it is wanted everywhere. The first rank's observer hears of everything.
template <class JobType, class Result>
std::optional<Computation> carry_out_on_ranks(const Options& options,
                                              const Course<JobType, Result>& course,
                                              Observer& observer) {
  const bool first = options.ranks->is_first();
  QuietObserver other(observer);
  Observer& heard = first ? observer : other;
  const auto all = std::make_shared<Finished<JobType, Result>>(
      Finished<JobType, Result>{options, course, {}, {}});
  all->options.quiet = options.quiet || !first;
  if (options.everywhere) return compute_everywhere(all, heard);
  return compute_on_rank(all, heard);
}

/// A verb whose course several ranks can share.
template <class JobType, class Result>
Verb make_shared_verb(Verb verb, Course<JobType, Result> course) {
  verb = make_verb(std::move(verb), course);
  verb.share = [course = std::move(course)](const Options& options, Observer& observer) {
    return carry_out_on_ranks(options, course, observer);
  };
  return verb;
}

/// Course::share by units. `divide` gives the study that they are of; its hooks keep checkpoints.
template <class Result, class JobType, class Divide>
std::optional<Result> share_units(const Options& given, JobType& job, Observer& observer,
                                  const Divide& divide) {
  Ranks& ranks = *given.ranks;
  const bool first = ranks.is_first();
  Options options = given;
  options.force = false;  // what was there goes first
  const auto clear = [&] {
    if (first && given.force) io::PartFolder::clear(options.output);
  };
  if (!agree(ranks, clear)) return std::nullopt;
  std::unique_ptr<SharedStudy<Result>> study;
  std::shared_ptr<io::PartFiles<Result>> files;
  const auto divide_job = [&] {
    study = divide(options, job);
    ResultProvenance whole = job.provenance;
    whole.seconds = job.earlier_seconds;
    files = std::make_shared<io::PartFiles<Result>>(ranks, options.output, job.study, whole,
                                                    study->units(), job.overwrite);
    if (!first || options.quiet || files->count() == 0) return;
    write_message(fmt::format("headway: {} of {} {} are done already", files->count(),
                              study->units(), study->unit_name()));
  };
  if (!agree(ranks, divide_job)) return std::nullopt;
  std::optional<Result> result = share(ranks, *study, *files, job.study.threads, observer);
  job.overwrite = job.overwrite || files->wrote();
  if (!options.output.empty()) {
    job.remove_checkpoints = [before = job.remove_checkpoints, files] {
      if (before) before();
      files->remove();
    };
  }
  return result;
}

}  // namespace headway::cli
