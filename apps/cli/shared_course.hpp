#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "course.hpp"
#include "headway/core/clock.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/tree_sum.hpp"
#include "headway/error.hpp"
#include "part_store.hpp"
#include "terminal.hpp"

namespace headway::cli {

/// The observer of a computation on one of several ranks. It keeps warnings, which the first rank
/// prints for all, and shows no progress of its own.
class RankObserver final : public Observer {
 public:
  void warning(std::string_view text) override { warnings_.emplace_back(text); }
  [[nodiscard]] bool interrupted() const override { return stop_ ? stop_() : stop_requested(); }

  /// From now on for a unit.
  void begin(std::function<bool()> stop) { stop_ = std::move(stop); }
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  std::function<bool()> stop_;
  std::vector<std::string> warnings_;
};

/// Threads of a rank: those that the study asks for; else the cores that it is bound to; else its
/// share of the machine.
int threads_of_rank(const headway::Study& study, const Ranks& ranks);

/// prepare() on one of several ranks. Only the first looks at the output and prints.
template <class JobType, class Result>
JobType prepare_on_rank(const Options& options, const Course<JobType, Result>& course,
                        Observer& observer) {
  if (!options.shard.empty()) {
    throw Error(
        ErrorKind::kUsage,
        "--shard: cannot be used on several ranks (mpirun), which share the work themselves");
  }
  Options mine = options;
  if (!options.ranks->is_first()) {
    mine.output.clear();
    mine.quiet = true;
  }
  JobType job = prepare(mine, course, observer);
  job.study.threads = threads_of_rank(job.study, *options.ranks);
  return job;
}

/// run_course() on one of several ranks. Each rank makes the study ready for itself. Then all
/// compute units of it, one after another. The first rank keeps finished units on disk, merges
/// them, writes and prints.
template <class JobType, class Result>
class SharedCourse {
 public:
  SharedCourse(const Options& options, const Course<JobType, Result>& course)
      : ranks_(*options.ranks),
        options_(options),
        course_(course),
        terminal_(options.quiet || !ranks_.is_first(), options.verbose && ranks_.is_first()) {
    // Only the first rank prints.
    if (!ranks_.is_first()) options_.quiet = true;
  }

  int run() {
    if (!agree(ranks_, [&] { make_ready(); })) return kExitOk;
    if (options_.dry_run) {
      if (ranks_.is_first()) write_output(course_.plan(options_, job_));
      return kExitOk;
    }
    if (!agree(ranks_, [&] { solver_ = course_.sharing.prepare(options_, job_, observer_); })) {
      return kExitOk;
    }
    tell_warnings(observer_.take_warnings());
    count_pieces();
    deal_units(ranks_, work());
    if (!ranks_.is_first()) return kExitOk;
    Result result = merged(true);
    if (course_.sharing.merged) course_.sharing.merged(options_, result);
    solver_ = {};  // it refers to the job
    const Computation done = computation_of(std::make_shared<Finished<JobType, Result>>(
        Finished<JobType, Result>{options_, course_, std::move(job_), std::move(result)}));
    const int code = deliver(options_, done, terminal_);
    if (!done.outcome.interrupted) store_->remove();
    return code;
  }

 private:
  void make_ready() {
    const bool afresh = std::exchange(options_.force, options_.force && ranks_.is_first());
    job_ = prepare_on_rank(options_, course_, terminal_);
    of_parts_ = job_.provenance;
    units_ = course_.sharing.units(job_);
    if (ranks_.is_first() && !options_.dry_run) {
      store_.emplace(options_.output, job_.provenance, units_, afresh);
      if (store_->count() > 0 && !options_.quiet) {
        write_message(fmt::format("headway: {} of {} {} are done already", store_->count(), units_,
                                  course_.sharing.unit_name));
      }
    }
    options_.force = false;  // what was there is gone
  }

  void tell_warnings(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      if (ranks_.is_first()) terminal_.warning(warning);
    }
  }

  /// What is dealt to ranks: for each unit its pieces, then the unit itself.
  void count_pieces() {
    std::array<double, 1> threads{static_cast<double>(job_.study.threads)};
    broadcast(ranks_, threads);  // all must count alike, and a rank elsewhere may have more threads
    if (course_.sharing.pieces) {
      pieces_ = course_.sharing.pieces(options_, job_, static_cast<int>(threads[0]));
    }
    piece_done_.resize(units_ * (pieces_ + 1));
    results_.resize(units_);
  }
  [[nodiscard]] std::size_t unit_of(std::size_t dealt) const { return dealt / (pieces_ + 1); }
  [[nodiscard]] bool is_piece(std::size_t dealt) const { return dealt % (pieces_ + 1) < pieces_; }

  UnitOutcome compute(std::size_t dealt, const std::function<bool()>& stop) {
    observer_.begin(stop);
    if (!is_piece(dealt)) return compute_unit(unit_of(dealt));
    const bool complete = solver_.piece(unit_of(dealt), {dealt % (pieces_ + 1), pieces_});
    return {{}, observer_.take_warnings(), complete};
  }
  UnitOutcome compute_unit(std::size_t unit) {
    const headway::Shard shard{unit, units_};
    Result result = solver_.part(shard);
    const Outcome outcome = course_.outcome(result);
    headway::ResultProvenance provenance = of_parts_;
    provenance.shard = headway::shard_text(shard);
    provenance.threads = outcome.threads;
    provenance.seconds = outcome.seconds;
    UnitOutcome unit_outcome{{}, observer_.take_warnings(), !outcome.interrupted};
    if (unit_outcome.complete) {
      unit_outcome.bytes = io::result_bytes(job_.study, result, provenance);
      if (ranks_.is_first()) results_[unit] = std::move(result);
    }
    return unit_outcome;
  }

  DealtWork work() {
    if (ranks_.is_first()) show_progress_of_units();
    return {units_ * (pieces_ + 1),
            [this](std::size_t dealt, const auto& stop) { return compute(dealt, stop); },
            [this](std::size_t dealt) { return piece_done_[dealt] || store_->has(unit_of(dealt)); },
            [this](std::size_t dealt, const UnitOutcome& outcome) { take(dealt, outcome); },
            &stop_requested,
            [this] { write_what_is_there(); },
            [this](std::size_t dealt) { return is_ready(dealt); }};
  }
  void take(std::size_t dealt, const UnitOutcome& outcome) {
    tell_warnings(outcome.warnings);
    if (is_piece(dealt)) {
      piece_done_[dealt] = outcome.complete;
    } else if (outcome.complete) {
      keep(unit_of(dealt), outcome.bytes);
    }
    show_progress_of_units();
  }
  /// Keeps a unit on disk; small ones in memory, too. (HDF5 copies the bytes twice to read them.)
  void keep(std::size_t unit, std::string_view bytes) {
    constexpr std::size_t kMostRead = std::size_t{64} << 20U;
    store_->put(unit, bytes);
    std::optional<Result>& result = results_[unit];
    if (!result && bytes.size() <= kMostRead) {
      result = course_.sharing.read(store_->file(unit), bytes);
    }
  }
  /// A unit can be computed when its pieces are there.
  [[nodiscard]] bool is_ready(std::size_t dealt) const {
    if (is_piece(dealt)) return true;
    const auto end = piece_done_.begin() + static_cast<std::ptrdiff_t>(dealt);
    return std::all_of(end - static_cast<std::ptrdiff_t>(pieces_), end, [](bool d) { return d; });
  }
  void show_progress_of_units() {
    terminal_.progress(course_.sharing.unit_name, static_cast<double>(store_->count()),
                       static_cast<double>(units_));
  }

  /// Writes a partial result while other ranks may still be at work.
  void write_what_is_there() {
    if (options_.output.empty() || store_->count() == 0) return;
    job_.provenance.partial = true;
    course_.write(options_, job_, merged(false));
    job_.overwrite = true;  // by the result at the end
  }

  /// Merges all units that are kept: those of this call from memory (from which the `last` merging
  /// moves them), the others from disk. Units that are not kept are not touched: a worker may still
  /// write them.
  Result merged(bool last) {
    if (store_->count() == 0) {
      throw Error(ErrorKind::kInterrupted, "interrupted before anything was finished");
    }
    headway::Parts<Result> parts(units_);
    for (std::size_t unit = 0; unit < units_; ++unit) {
      if (!store_->has(unit)) continue;
      std::optional<Result>& result = results_[unit];
      if (!result) {
        parts[unit] = course_.sharing.read(store_->file(unit), {});
      } else if (last) {
        parts[unit] = std::move(result);
      } else {
        parts[unit] = result;
      }
    }
    Result whole = headway::merge_parts(job_.study, std::move(parts));
    whole.seconds = seconds_since(began_);
    return whole;
  }

  Ranks& ranks_;
  Options options_;
  const Course<JobType, Result>& course_;
  TerminalObserver terminal_;
  RankObserver observer_;
  JobType job_;
  headway::ResultProvenance of_parts_;  ///< what all parts have in common
  Clock::time_point began_ = Clock::now();
  std::size_t units_ = 0, pieces_ = 0;
  std::vector<bool> piece_done_;  ///< by what is dealt
  std::optional<PartStore> store_;
  headway::Parts<Result> results_;  ///< on the first rank: units that were computed in this call
  PartSolver<Result> solver_;
};

/// run_course() on one of several ranks that compute one result together, by Sharing::together.
template <class JobType, class Result>
int run_together(const Options& options, const Course<JobType, Result>& course) {
  Ranks& ranks = *options.ranks;
  const bool first = ranks.is_first();
  TerminalObserver observer(options.quiet || !first, options.verbose && first);
  JobType job;
  if (!agree(ranks, [&] { job = prepare_on_rank(options, course, observer); })) return kExitOk;
  if (options.dry_run) {
    if (first) write_output(course.plan(options, job));
    return kExitOk;
  }
  std::optional<Result> result = course.sharing.together(options, job, observer);
  if (!result) return kExitOk;
  return deliver(
      options,
      computation_of(std::make_shared<Finished<JobType, Result>>(
          Finished<JobType, Result>{options, course, std::move(job), *std::move(result)})),
      observer);
}

template <class JobType, class Result>
int run_shared(const Options& options, const Course<JobType, Result>& course) {
  return SharedCourse<JobType, Result>(options, course).run();
}

}  // namespace headway::cli
