#include "train_on_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "headway/core/deal.hpp"
#include "headway/sweep.hpp"
#include "shared_course.hpp"

namespace headway::cli {

namespace {

Index most_micro_batches(const std::vector<headway::TrainRun>& runs) {
  Index most = 1;
  for (const headway::TrainRun& run : runs) {
    most = std::max(most, run.study.train.run.micro_batches);
  }
  return most;
}

void warn_of_idle_ranks(const Ranks& ranks, Index micro_batches, Observer& observer) {
  if (!ranks.is_first() || micro_batches >= ranks.size()) return;
  observer.warning(fmt::format("train.micro_batches = {}: {} of the {} ranks have nothing to do",
                               micro_batches, ranks.size() - micro_batches, ranks.size()));
}

}  // namespace

std::optional<headway::TrainResult> train_together(const Options& options, TrainJob& job,
                                                   Observer& observer,
                                                   const TrainRecordHook& record) {
  Ranks& ranks = *options.ranks;
  warn_of_idle_ranks(ranks, most_micro_batches(job.runs), observer);
  Options mine = options;
  if (!ranks.is_first()) {  // only the first rank prints and writes
    mine.output.clear();
    mine.quiet = true;
  }
  training::TrainingRanks together(ranks);
  job.ranks = &together;
  std::optional<headway::TrainResult> result;
  const auto train = [&] {
    try {
      result = train_grid(mine, job, observer, ranks.is_first() ? record : TrainRecordHook());
    } catch (...) {
      together.go_on(true);  // frees the others, which may wait for this rank before the first run
      throw;
    }
  };
  const bool good = agree(ranks, train);
  job.ranks = nullptr;
  return good && ranks.is_first() ? std::move(result) : std::nullopt;
}

int train_on_ranks(const Options& options, const Course<TrainJob, headway::TrainResult>& course) {
  bool together = false;
  const auto decide = [&] {
    together = most_micro_batches(headway::train_runs(study_of(options).study)) > 1;
  };
  if (!agree(*options.ranks, decide)) return kExitOk;
  return together ? run_together(options, course) : run_shared(options, course);
}

}  // namespace headway::cli
