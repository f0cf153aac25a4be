#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headway/jobs/job.hpp"
#include "headway/train.hpp"
#include "jobs/train_plan.hpp"

namespace headway::jobs {

/// The steps that verbs share which train.
class TrainStart : public Job {
 public:
  using Job::Job;

 protected:
  [[nodiscard]] bool resumes() const override { return true; }
  /// Makes every task once, so that a fault of the last run shows before the first one is trained.
  std::string read_data(Observer& observer) override;
  /// Whether the output is the partial result of an interrupted call for this grid, which may have
  /// been changed since. Its runs are then in the checkpoints, too, so that overwriting it loses
  /// nothing. Checkpoints of another grid are an Error{kBadStudy} that names the keys.
  [[nodiscard]] bool goes_on() const override;

  /// Trains the runs of the job, with checkpoints beside the output if there is one. Request::watch
  /// and ::record hear of them.
  TrainResult train_grid(Observer& observer);
  /// train_grid() by all ranks together. Returns the result on the first rank, nothing on the
  /// others; what fails on any rank is thrown on the first.
  std::optional<TrainResult> train_together(Observer& observer);
  /// Hooks that find the checkpoints of earlier calls and keep those of this one. `force`: those
  /// that are there are deleted.
  TrainHooks keep_checkpoints(Observer& observer, bool force);
  /// The largest train.micro_batches of the runs.
  [[nodiscard]] Index most_micro_batches() const;

  std::vector<TrainRun> runs_;
  std::vector<PlannedRun> planned_runs_;
  std::vector<std::string> data_hashes_;
  TaskMaker make_task_;

 private:
  [[nodiscard]] JobShare share_of_runs(std::size_t count) const;

  /// Those that take every step together; null: this one alone.
  training::TrainingRanks* together_ = nullptr;
};

}  // namespace headway::jobs
