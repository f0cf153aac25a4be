#include "train_on_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "headway/core/deal.hpp"
#include "headway/training/backend.hpp"
#include "shared_course.hpp"
#include "terminal.hpp"

namespace headway::cli {

namespace {

using TrainCourse = Course<TrainJob, studies::TrainResult>;

Index most_micro_batches(const std::vector<studies::TrainRun>& runs) {
  Index most = 1;
  for (const studies::TrainRun& run : runs) {
    most = std::max(most, run.study.train.run.micro_batches);
  }
  return most;
}

/// What is asked of the user and the disk is asked by the first.
Options options_of_rank(Options options) {
  if (options.ranks->is_first()) return options;
  options.quiet = true;
  options.verbose = options.json = false;
  options.output.clear();
  options.weights.clear();
  return options;
}

/// Every rank makes the grid ready, trains with the others, and the first writes and prints.
int train_together(const Options& all_options, const TrainCourse& course) {
  Ranks& ranks = *all_options.ranks;
  const Options options = options_of_rank(all_options);
  TerminalObserver terminal(options.quiet, options.verbose);
  RankObserver silent;
  Observer& observer = ranks.is_first() ? static_cast<Observer&>(terminal) : silent;
  training::TrainingRanks together(ranks);
  const auto all = std::make_shared<Finished<TrainJob, studies::TrainResult>>(
      Finished<TrainJob, studies::TrainResult>{options, course, {}, {}});
  const auto make_ready = [&] {
    all->job = prepare(options, course, observer);
    all->job.ranks = &together;
    all->job.study.threads = threads_of_rank(all->job.study, ranks);
    if (!options.dry_run) static_cast<void>(training::training_backend());
  };
  if (!agree(ranks, make_ready)) return kExitOk;
  if (options.dry_run) {
    if (ranks.is_first()) write_output(course.plan(options, all->job));
    return kExitOk;
  }
  const Index most = most_micro_batches(all->job.runs);
  if (most < ranks.size()) {
    observer.warning(fmt::format("train.micro_batches = {}: {} of the {} ranks have nothing to do",
                                 most, ranks.size() - most, ranks.size()));
  }
  const auto compute = [&] { all->result = course.compute(options, all->job, observer); };
  if (!agree(ranks, compute) || !ranks.is_first()) return kExitOk;
  return deliver(options, computation_of(all), observer);
}

}  // namespace

int train_on_ranks(const Options& options, const TrainCourse& course) {
  bool together = false;
  const auto decide = [&] {
    together = most_micro_batches(studies::train_runs(study_of(options).study)) > 1;
  };
  if (!agree(*options.ranks, decide)) return kExitOk;
  return together ? train_together(options, course) : run_shared(options, course);
}

}  // namespace headway::cli
