#pragma once

#include <functional>
#include <string>
#include <vector>

#include "course.hpp"
#include "headway/studies/training.hpp"
#include "train_plan.hpp"

namespace headway::cli {

/// What is known before anything is trained.
struct TrainJob : Job {
  std::vector<studies::TrainRun> runs;
  std::vector<PlannedRun> planned;
  std::vector<std::string> data_hashes;
  studies::TaskMaker make_task;
  training::TrainingRanks* ranks = nullptr;  ///< who take the steps of every run together; or none
};

/// Makes every task once: faults of the last run show before the first one is trained.
std::string read_training_data(const Options& options, TrainJob& job, Observer& observer);

/// Is the output what an interrupted call left of this grid, or of one that has been changed since?
/// Then every run in it lies in the checkpoints too, and overwriting it loses nothing; checkpoints
/// of another grid are an Error{kBadStudy} that names the keys.
bool training_goes_on(const Options& options, const TrainJob& job);

using TrainRecordHook =
    std::function<void(std::size_t run, const studies::TrainedRun&, const training::TrainRecord&)>;

/// Trains the runs of the job, with progress on standard error and checkpoints beside the output,
/// where there is one; `record` (or none) is told of every record.
studies::TrainResult train_grid(const Options& options, TrainJob& job, Observer& observer,
                                const TrainRecordHook& record);

/// On one of several ranks: checks that it can train; what is returned trains the runs of a part,
/// one after another, with all of the rank's threads.
PartSolver<studies::TrainResult> prepare_training_parts(const Options& options, TrainJob& job,
                                                        Observer& observer);

}  // namespace headway::cli
