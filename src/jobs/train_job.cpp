#include "jobs/train_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "headway/checkpoints.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/detail_observer.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/jobs/train_watch.hpp"
#include "headway/result_file.hpp"
#include "headway/study/sweep.hpp"
#include "headway/training/backend.hpp"
#include "headway/training/training_ranks.hpp"
#include "headway/training/training_stack.hpp"
#include "jobs/checkpoint_fault.hpp"
#include "jobs/trained_data.hpp"

namespace headway::jobs {

JobShare TrainStart::share_of_runs(std::size_t count) const {
  const bool on_gpu = std::any_of(planned_runs_.begin(), planned_runs_.end(),
                                  [](const PlannedRun& run) { return run.cost.device == "cuda"; });
  // A stack of sixteen costs few launches a run. If it does not fit the GPU, it has fewer runs.
  constexpr int kMostStacked = 16;
  const int on_one_gpu = on_gpu && training::stacks_runs() ? kMostStacked : 1;
  return share_of_cores(count, request.jobs.value_or(on_gpu ? on_one_gpu : 0), study.threads,
                        resolve_threads(0));
}

TrainHooks TrainStart::keep_checkpoints(Observer& observer, bool force) {
  if (request.output.empty()) return {};
  const auto checkpoints =
      std::make_shared<TrainCheckpoints>(request.output, runs_, data_hashes_, force);
  remove_ = [checkpoints] { checkpoints->remove(); };
  if (checkpoints->resumable() + checkpoints->finished() > 0) {
    tell_message(observer, fmt::format("continuing {} from {}; done already: {}",
                                       count_text(checkpoints->resumable(), "run"),
                                       checkpoints->folder(), checkpoints->finished()));
  }
  earlier_seconds_ = std::max(earlier_seconds_, checkpoints->earlier_seconds());
  TrainHooks hooks = checkpoints->hooks();
  if (request.ranks == nullptr) hooks.save = watched(std::move(hooks.save), fault_);
  return hooks;
}

std::string TrainStart::read_data(Observer& observer) {
  if (request.verbose) {
    const std::string obstacle = training::training_obstacle();
    observer.note(obstacle.empty() ? training::training_backend() : obstacle);
  }
  runs_ = headway::train_runs(study);
  make_task_ = headway::make_task_maker(task_files(request));
  std::set<std::string> told;
  for (const TrainRun& run : runs_) {
    const TrainTask task = make_task_(run.study);
    headway::check_train_run(run.study, *task.task);
    planned_runs_.push_back({planned_runs_.size() + 1, headway::run_label(run.settings, run.study),
                             headway::run_variant(run.study), run.study.seed,
                             headway::train_cost(run.study, task.task->format()),
                             task.task->format(), run.study});
    headway::require_memory(planned_runs_.back().cost, 1, physical_memory());
    data_hashes_.push_back(task.content_hash);
    for (const std::string& warning : task.warnings) {
      if (told.insert(warning).second) observer.warning(warning);
    }
  }
  std::string hash = headway::combined_data_hash(data_hashes_);
  warn_of_replaced_data(*this, hash, observer);
  return hash;
}

bool TrainStart::goes_on() const {
  if (is_own_partial_result()) return true;
  if (!io::is_result_file(request.output)) return false;
  const ResultProvenance stored = io::read_result_provenance(request.output);
  if (!stored.partial || stored.shard != provenance.shard) return false;
  const Study earlier = io::parse_study(stored.study_toml, request.output);
  if (!headway::is_training_task(earlier.task.kind())) return false;
  const TrainCheckpoints kept(request.output, runs_, data_hashes_, false);
  return kept.resumable() + kept.finished() > 0;
}

TrainResult TrainStart::train_grid(Observer& observer) {
  static_cast<void>(training::training_backend());  // Error{kUnavailable} without LibTorch
  TrainHooks hooks = keep_checkpoints(observer, request.force);
  const std::vector<std::size_t> numbers = headway::dealt_units(runs_.size(), shard);
  hooks.ranks = together_;
  const JobShare share =
      together_ != nullptr ? JobShare{1, study.threads} : share_of_runs(numbers.size());
  for (const PlannedRun& run : planned_runs_) {
    headway::require_memory(run.cost, share.jobs, physical_memory());
  }
  training::require_training_space(share.jobs * resolve_threads(share.threads));
  if (share.jobs > 1) {
    observer.note(fmt::format("{} runs at once, threads for each: {}", share.jobs, share.threads));
  }
  const int processes = together_ != nullptr ? together_->size() : 1;
  const double peak = request.watch == nullptr
                          ? 0.0
                          : processes * training::measure_peak_flops(share.jobs * share.threads);
  double all_flops = 0.0;
  for (const std::size_t run : numbers) {
    const PlannedRun& planned = planned_runs_[run];
    all_flops += planned.cost.flops_per_step * static_cast<double>(planned.study.train.run.steps);
  }
  TrainWatch counting;
  TrainWatch& watch = request.watch == nullptr ? counting : *request.watch;
  watch.start(runs_.size(), all_flops, peak);
  hooks.begin = [&](std::size_t run, const TrainedRun& trained) {
    watch.begin(run, trained, runs_[run].study);
  };
  hooks.record = [&](std::size_t run, const TrainedRun& trained, const training::TrainRecord& one) {
    if (request.record) request.record(run, trained, one);
    watch.record(run, one);
  };
  hooks.progress = [&](std::size_t run, double done, double total) {
    watch.progress(run, done, total);
    if (request.watch != nullptr) return;  // else, as in Python, the observer is told
    const TrainWatch::Work work = watch.work();
    observer.whole("train", work.done, work.all, work.earlier);
  };
  hooks.end = [&](std::size_t run, const TrainedRun&) { watch.end(run); };
  return headway::train_part(runs_, numbers, make_task_, observer, hooks, share);
}

Index TrainStart::most_micro_batches() const {
  Index most = 1;
  for (const TrainRun& run : runs_) most = std::max(most, run.study.train.run.micro_batches);
  return most;
}

std::optional<TrainResult> TrainStart::train_together(Observer& observer) {
  Ranks& ranks = *request.ranks;
  const bool first = ranks.is_first();
  const Index micro_batches = most_micro_batches();
  if (micro_batches < ranks.size()) {
    observer.warning(fmt::format("train.micro_batches = {}: {} of the {} ranks have nothing to do",
                                 micro_batches, ranks.size() - micro_batches, ranks.size()));
  }
  if (!first) request.output.clear();
  training::TrainingRanks together(ranks);
  together_ = &together;
  std::optional<TrainResult> result;
  const auto train = [&] {
    try {
      result = train_grid(observer);
    } catch (...) {
      together.go_on(true);  // frees the others, which may wait for this rank before the first run
      throw;
    }
  };
  const bool good = agree(ranks, train);
  together_ = nullptr;
  return good && first ? std::move(result) : std::nullopt;
}

}  // namespace headway::jobs
