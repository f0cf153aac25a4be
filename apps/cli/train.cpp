#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "headway/core/error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/sha256.hpp"
#include "headway/io/checkpoints.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/json.hpp"
#include "headway/io/provenance.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/io/weights_file.hpp"
#include "headway/training/backend.hpp"
#include "run.hpp"
#include "train_progress.hpp"
#include "train_table.hpp"

namespace headway::cli {

namespace {

/// What is known before anything is trained.
struct TrainJob {
  studies::Study study;
  std::vector<studies::TrainRun> runs;
  std::vector<PlannedRun> plan;
  std::vector<std::string> data_hashes;
  studies::TaskMaker make_task;
  io::ResultProvenance provenance;
  bool overwrite = false;  ///< the output may exist: --force, or this run goes on where it stopped
};

/// "weights-2.npz" for the second of several runs.
std::string weights_path(const std::string& file_path, std::size_t run, std::size_t count) {
  if (count == 1) return file_path;
  const std::size_t dot = file_path.rfind('.');
  return fmt::format("{}-{}{}", file_path.substr(0, dot), run + 1, file_path.substr(dot));
}

void check_weights_paths(const Options& options, std::size_t runs, bool overwrite) {
  if (options.weights.empty()) return;
  io::check_weights_path(options.weights);
  for (std::size_t i = 0; i < runs; ++i) {
    io::check_output_path(weights_path(options.weights, i, runs), overwrite);
  }
}

/// Makes every task once: faults of the last run show before the first one is trained.
void plan_runs(TrainJob& job) {
  for (const studies::TrainRun& run : job.runs) {
    const studies::TrainTask task = job.make_task(run.study);
    studies::check_train_run(run.study, *task.task);
    job.plan.push_back({studies::run_label(run.settings, run.study),
                        studies::run_variant(run.study),
                        run.study.seed,
                        studies::train_cost(run.study, task.task->format()),
                        task.task->format(),
                        run.study,
                        {}});
    job.data_hashes.push_back(task.content_hash);
  }
}

/// Is the output what an interrupted call left of this grid, or of one that has been changed since?
/// Then every run in it lies in the checkpoints too, and overwriting it loses nothing; checkpoints
/// of another grid are an Error{kBadStudy} that names the keys.
bool goes_on(const Options& options, const TrainJob& job) {
  if (is_partial_result_of(options.output, job.provenance)) return true;
  if (!io::is_result_file(options.output)) return false;
  const io::ResultProvenance stored = io::read_result_provenance(options.output);
  if (!stored.partial) return false;
  const studies::Study study = io::parse_study(stored.study_toml, options.output);
  if (!studies::is_training_task(study.task.kind)) return false;
  const io::TrainCheckpoints kept(options.output, job.runs, job.data_hashes, false);
  return kept.resumable() + kept.finished() > 0;
}

TrainJob prepare_training(const Options& options, Observer& observer) {
  const io::LoadedStudy loaded = load_study(options);
  TrainJob job;
  job.study = loaded.study;
  note_environment(job.study, observer);
  if (!options.output.empty()) refuse_input_as_output(options, loaded);
  job.runs = io::train_runs(job.study);
  job.make_task = io::training_task_maker();
  plan_runs(job);
  job.provenance =
      io::make_provenance(job.study, studies::combined_data_hash(job.data_hashes), options.command);
  const bool writes = !options.output.empty();
  job.overwrite = options.force || (writes && goes_on(options, job));
  check_weights_paths(options, job.runs.size(), job.overwrite);
  if (writes) io::check_output_path(options.output, job.overwrite);
  return job;
}

studies::TrainHooks make_hooks(const Options& options, const TrainJob& job,
                               const std::optional<io::TrainCheckpoints>& checkpoints,
                               TrainProgress& progress) {
  studies::TrainHooks hooks;
  if (checkpoints) hooks = checkpoints->hooks();
  hooks.begin = [&](std::size_t run, const studies::TrainedRun& trained) {
    progress.begin(run, job.runs.size(), trained, job.runs[run].study);
  };
  hooks.record = [&](std::size_t run, const studies::TrainedRun& trained,
                     const training::TrainRecord& record) {
    if (options.json) write_output(io::train_record_json(run, trained, record) + "\n");
    progress.record(record);
  };
  return hooks;
}

void export_weights(const Options& options, const TrainJob& job,
                    const studies::TrainResult& result) {
  if (options.weights.empty()) return;
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const studies::TrainedRun& run = result.runs[i];
    if (!run.done() || run.state.parameters.empty()) continue;
    const std::vector<std::pair<std::string, std::string>> notes = {
        {"study", job.study.name},
        {"label", run.label},
        {"seed", std::to_string(run.seed)},
        {"step", std::to_string(run.state.step)},
        {"headway_version", job.provenance.headway_version}};
    io::write_weights(weights_path(options.weights, i, job.runs.size()), run.state.parameters,
                      notes, job.overwrite);
  }
}

int conclude_training(const Options& options, const studies::TrainResult& result,
                      Observer& observer) {
  bool usable = true;
  std::size_t done = 0;
  for (const studies::TrainedRun& run : result.runs) {
    done += run.done() ? 1 : 0;
    const std::string fault = studies::training_fault(run);
    if (fault.empty()) continue;
    usable = false;
    observer.warning(fmt::format("{}, seed {}: not usable: {}", run.label, run.seed, fault));
  }
  if (!options.quiet) {
    write_message(fmt::format("headway: {} of {} runs done, {:.3g} s{}{}", done, result.planned,
                              result.seconds,
                              options.output.empty() ? "" : ", result in " + options.output,
                              result.interrupted ? "; interrupted: the result is partial" : ""));
  }
  if (result.interrupted) return static_cast<int>(ErrorKind::kInterrupted);
  return usable ? kExitOk : kExitNotUsable;
}

}  // namespace

int run_train(const Options& options) {
  TrainProgress progress(options.quiet, options.verbose);
  TrainJob job = prepare_training(options, progress);
  if (options.dry_run) {
    job.plan.front().ceilings = studies::split_ceilings(job.runs.front().study);
    write_output(options.json ? train_plan_json(job.study, job.plan) + "\n"
                              : train_plan_text(job.study, job.plan, options.output));
    return kExitOk;
  }
  progress.note(training::training_backend());  // Error{kUnavailable} without LibTorch
  std::optional<io::TrainCheckpoints> checkpoints;
  if (!options.output.empty()) {
    checkpoints.emplace(options.output, job.runs, job.data_hashes, options.force);
    if (checkpoints->resumable() + checkpoints->finished() > 0 && !options.quiet) {
      write_message(fmt::format("headway: going on with {} runs, {} are done already, from {}",
                                checkpoints->resumable(), checkpoints->finished(),
                                checkpoints->folder()));
    }
  }
  if (!options.quiet) {
    progress.set_peak(training::measure_peak_flops(resolve_threads(job.study.threads)));
  }
  const studies::TrainResult result = studies::train(
      job.runs, job.make_task, progress, make_hooks(options, job, checkpoints, progress));
  if (!options.output.empty()) {
    job.provenance.threads = result.threads;
    job.provenance.seconds = result.seconds;
    job.provenance.partial = result.interrupted;
    io::write_train_result(options.output, job.study, result, job.provenance, job.overwrite);
  }
  export_weights(options, job, result);
  write_output(options.json ? io::train_summary_json(job.study, result) + "\n"
                            : train_table(job.study, result));
  const int code = conclude_training(options, result, progress);
  if (checkpoints && !result.interrupted) checkpoints->remove();
  return code;
}

}  // namespace headway::cli
