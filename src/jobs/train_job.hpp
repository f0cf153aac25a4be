#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "course.hpp"
#include "headway/train.hpp"
#include "train_plan.hpp"

namespace headway::cli {

/// What is known before anything is trained.
struct TrainJob : Job {
  std::vector<TrainRun> runs;
  std::vector<PlannedRun> planned;
  std::vector<std::string> data_hashes;
  TaskMaker make_task;
  training::TrainingRanks* ranks =
      nullptr;  ///< that take every step together; null: this one alone
};

/// Makes every task once, so that a fault of the last run shows before the first one is trained.
std::string read_training_data(const Options& options, TrainJob& job, Observer& observer);

/// Whether the output is the partial result of an interrupted call for this grid, which may have
/// been changed since. Its runs are then in the checkpoints, too, so that overwriting it loses
/// nothing. Checkpoints of another grid are an Error{kBadStudy} that names the keys.
bool training_goes_on(const Options& options, const TrainJob& job);

using TrainRecordHook =
    std::function<void(std::size_t run, const TrainedRun&, const training::TrainRecord&)>;

/// Trains the runs of the job, with progress on standard error, and checkpoints beside the output
/// if there is one. `record`, which may be empty, is called with every record.
TrainResult train_grid(const Options& options, TrainJob& job, Observer& observer,
                       const TrainRecordHook& record);

/// Hooks that find the checkpoints of earlier calls and keep those of this one.
TrainHooks keep_checkpoints(const Options& options, TrainJob& job);

/// The largest train.micro_batches of the runs.
Index most_micro_batches(const std::vector<TrainRun>& runs);

/// train_grid() by all ranks together. Returns the result on the first rank, nothing on the others;
/// what fails on any rank is thrown on the first.
std::optional<TrainResult> train_together(const Options& options, TrainJob& job, Observer& observer,
                                          const TrainRecordHook& record);

}  // namespace headway::cli
