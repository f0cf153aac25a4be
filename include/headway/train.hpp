#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "headway/core/jobs.hpp"
#include "headway/observer.hpp"
#include "headway/study.hpp"
#include "headway/study/train_run.hpp"
#include "headway/train_results.hpp"
#include "headway/train_task.hpp"
#include "headway/training/training_ranks.hpp"

namespace headway {

/// Error{kBadStudy} when model, run and task do not fit each other, before anything is trained.
void check_train_run(const Study& study, const training::TrainingTask& task);

/// Sizes and costs of a run, without training (and without LibTorch).
/// Error{kUnavailable} for train.device = "cuda" where there is none.
TrainCost train_cost(const Study& study, const training::TaskFormat& format);

/// Error{kBadStudy} when `jobs` such runs at once need more than `memory_bytes` of the CPU's.
void require_memory(const TrainCost& cost, int jobs, double memory_bytes);

/// How runs are watched, checkpointed and skipped. Any may be empty. They are called one at a time,
/// from the thread of the run.
struct TrainHooks {
  /// What an earlier call left of this run: one that is done() is not run again.
  std::function<std::optional<TrainedRun>(std::size_t run)> load;
  std::function<void(std::size_t run, const TrainedRun&)> save;
  /// At the start of a run, also of one that `load` gave.
  std::function<void(std::size_t run, const TrainedRun&)> begin;
  std::function<void(std::size_t run, const TrainedRun&, const training::TrainRecord&)> record;
  /// In place of the observer's: `done` of `total` steps, or of examples of an evaluation.
  std::function<void(std::size_t run, double done, double total)> progress;
  /// At the end of a run, trained to it or not.
  std::function<void(std::size_t run, const TrainedRun&)> end;
  /// The ranks that take the steps of a run together; null: this process alone. Every rank calls
  /// train() with the same runs and one job at once. The other hooks are those of the first rank,
  /// which also gets the result. The rank that fails throws; the others stop as if interrupted.
  training::TrainingRanks* ranks = nullptr;
};

/// `headway train`: one training::Trainer for each run, `share.jobs` of them at once with
/// `share.threads` threads each (0: as the study says). Where training::stacks_runs() says so, runs
/// of one shape are stacked. Stacks and single runs are then trained side by side, as many runs as
/// fit the memory of the GPU. The results are the same to the last bit for any numbers.
/// Interruption and divergence are values. The state of an interrupted run goes on to the same
/// bits. After an error in one run the others stop as if interrupted, then it is thrown. Errors:
/// kBadStudy as check_train_run, kUnavailable without LibTorch or CUDA, kBadData for a state of
/// another model.
TrainResult train(std::span<const TrainRun> runs, const TaskMaker& make_task,
                  Observer& observer = no_observer(), const TrainHooks& hooks = {},
                  JobShare share = {1, 0});

/// The runs `numbers` in the groups that are trained one after another, each with `jobs` runs at
/// once. LibTorch has one setting a process for how it multiplies float32 on a GPU, so runs of
/// different train.precision are never trained side by side: their numbers would depend on who else
/// is at work. With one job all runs are one group.
std::vector<std::vector<std::size_t>> groups_of_precision(std::span<const TrainRun> runs,
                                                          const std::vector<std::size_t>& numbers,
                                                          int jobs);

/// Runs that are trained as one stack (training/training_stack.hpp), of at most `jobs` and of about
/// the same size each, and those that no other one fits.
struct Stacks {
  std::vector<std::vector<std::size_t>> stacks;
  std::vector<std::size_t> alone;
};
Stacks stacks_of(std::span<const TrainRun> runs, const std::vector<std::size_t>& numbers, int jobs);

/// The same for a part of the grid (headway/shard.hpp): only the runs with these numbers, in rising
/// order.
TrainResult train_part(std::span<const TrainRun> runs, const std::vector<std::size_t>& numbers,
                       const TaskMaker& make_task, Observer& observer = no_observer(),
                       const TrainHooks& hooks = {}, JobShare share = {1, 0});

}  // namespace headway
