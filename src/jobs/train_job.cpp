#include "train_course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "headway/checkpoints.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/result_file.hpp"
#include "headway/study/sweep.hpp"
#include "headway/training/backend.hpp"
#include "headway/training/training_stack.hpp"
#include "train_progress.hpp"
#include "trained_data.hpp"

namespace headway::cli {

namespace {

JobShare share_of_runs(const Options& options, const TrainJob& job,
                       const std::vector<std::size_t>& numbers) {
  const bool on_gpu = std::any_of(job.planned.begin(), job.planned.end(),
                                  [](const PlannedRun& run) { return run.cost.device == "cuda"; });
  // A stack of sixteen costs few launches a run. If it does not fit the GPU, it has fewer runs.
  constexpr int kMostStacked = 16;
  const int on_one_gpu = on_gpu && training::stacks_runs() ? kMostStacked : 1;
  return share_of_cores(numbers.size(), options.jobs.value_or(on_gpu ? on_one_gpu : 0),
                        job.study.threads, resolve_threads(0));
}

}  // namespace

TrainHooks keep_checkpoints(const Options& options, TrainJob& job) {
  if (options.output.empty()) return {};
  const auto checkpoints = std::make_shared<io::TrainCheckpoints>(options.output, job.runs,
                                                                  job.data_hashes, options.force);
  job.remove_checkpoints = [checkpoints] { checkpoints->remove(); };
  if (checkpoints->resumable() + checkpoints->finished() > 0 && !options.quiet) {
    write_message(fmt::format("headway: continuing {} from {}; done already: {}",
                              count_text(checkpoints->resumable(), "run"), checkpoints->folder(),
                              checkpoints->finished()));
  }
  job.earlier_seconds = std::max(job.earlier_seconds, checkpoints->earlier_seconds());
  TrainHooks hooks = checkpoints->hooks();
  if (options.ranks == nullptr) hooks.save = watched(std::move(hooks.save), job.fault);
  return hooks;
}

std::string read_training_data(const Options& options, TrainJob& job, Observer& observer) {
  if (options.verbose) {
    const std::string obstacle = training::training_obstacle();
    observer.note(obstacle.empty() ? training::training_backend() : obstacle);
  }
  job.runs = headway::train_runs(job.study);
  job.make_task = headway::make_task_maker(task_files(options));
  std::set<std::string> told;
  for (const TrainRun& run : job.runs) {
    const TrainTask task = job.make_task(run.study);
    headway::check_train_run(run.study, *task.task);
    job.planned.push_back({job.planned.size() + 1, headway::run_label(run.settings, run.study),
                           headway::run_variant(run.study), run.study.seed,
                           headway::train_cost(run.study, task.task->format()), task.task->format(),
                           run.study});
    headway::require_memory(job.planned.back().cost, 1, physical_memory());
    job.data_hashes.push_back(task.content_hash);
    for (const std::string& warning : task.warnings) {
      if (told.insert(warning).second) observer.warning(warning);
    }
  }
  std::string hash = headway::combined_data_hash(job.data_hashes);
  warn_of_replaced_data(options, job, hash, observer);
  return hash;
}

bool training_goes_on(const Options& options, const TrainJob& job) {
  if (is_partial_result_of(options, job)) return true;
  if (!io::is_result_file(options.output)) return false;
  const ResultProvenance stored = io::read_result_provenance(options.output);
  if (!stored.partial || stored.shard != job.provenance.shard) return false;
  const Study study = io::parse_study(stored.study_toml, options.output);
  if (!headway::is_training_task(study.task.kind())) return false;
  const io::TrainCheckpoints kept(options.output, job.runs, job.data_hashes, false);
  return kept.resumable() + kept.finished() > 0;
}

TrainResult train_grid(const Options& options, TrainJob& job, Observer& observer,
                       const TrainRecordHook& record) {
  static_cast<void>(training::training_backend());  // Error{kUnavailable} without LibTorch
  TrainHooks hooks = keep_checkpoints(options, job);
  const std::vector<std::size_t> numbers = headway::dealt_units(job.runs.size(), job.shard);
  hooks.ranks = job.ranks;
  const JobShare share =
      job.ranks != nullptr ? JobShare{1, job.study.threads} : share_of_runs(options, job, numbers);
  for (const PlannedRun& run : job.planned) {
    headway::require_memory(run.cost, share.jobs, physical_memory());
  }
  training::require_training_space(share.jobs * resolve_threads(share.threads));
  if (share.jobs > 1) {
    observer.note(fmt::format("{} runs at once, threads for each: {}", share.jobs, share.threads));
  }
  const int processes = job.ranks != nullptr ? job.ranks->size() : 1;
  const double peak =
      options.quiet ? 0.0 : processes * training::measure_peak_flops(share.jobs * share.threads);
  double all_flops = 0.0;
  for (const std::size_t run : numbers) {
    const PlannedRun& planned = job.planned[run];
    all_flops += planned.cost.flops_per_step * static_cast<double>(planned.study.train.run.steps);
  }
  TrainProgress progress(options.quiet, job.runs.size(), all_flops, peak);
  hooks.begin = [&](std::size_t run, const TrainedRun& trained) {
    progress.begin(run, trained, job.runs[run].study);
  };
  hooks.record = [&](std::size_t run, const TrainedRun& trained, const training::TrainRecord& one) {
    if (record) record(run, trained, one);
    progress.record(run, one);
  };
  hooks.progress = [&](std::size_t run, double done, double total) {
    progress.progress(run, done, total);
    if (!options.quiet) return;  // without progress lines, as in Python, the observer is told
    const TrainProgress::Work work = progress.work();
    observer.whole("train", work.done, work.all, work.earlier);
  };
  hooks.end = [&](std::size_t run, const TrainedRun&) { progress.end(run); };
  return headway::train_part(job.runs, numbers, job.make_task, observer, hooks, share);
}

Index most_micro_batches(const std::vector<TrainRun>& runs) {
  Index most = 1;
  for (const TrainRun& run : runs) {
    most = std::max(most, run.study.train.run.micro_batches);
  }
  return most;
}

std::optional<TrainResult> train_together(const Options& options, TrainJob& job, Observer& observer,
                                          const TrainRecordHook& record) {
  Ranks& ranks = *options.ranks;
  const bool first = ranks.is_first();
  const Index micro_batches = most_micro_batches(job.runs);
  if (micro_batches < ranks.size()) {
    observer.warning(fmt::format("train.micro_batches = {}: {} of the {} ranks have nothing to do",
                                 micro_batches, ranks.size() - micro_batches, ranks.size()));
  }
  Options mine = options;
  if (!first) mine.output.clear();
  training::TrainingRanks together(ranks);
  job.ranks = &together;
  std::optional<TrainResult> result;
  const auto train = [&] {
    try {
      result = train_grid(mine, job, observer, first ? record : TrainRecordHook());
    } catch (...) {
      together.go_on(true);  // frees the others, which may wait for this rank before the first run
      throw;
    }
  };
  const bool good = agree(ranks, train);
  job.ranks = nullptr;
  return good && first ? std::move(result) : std::nullopt;
}

}  // namespace headway::cli
