#include <fmt/format.h>

#include <memory>

#include "course.hpp"
#include "headway/core/parallel.hpp"
#include "headway/io/checkpoints.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/json.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/io/weights_file.hpp"
#include "headway/studies/sweep.hpp"
#include "headway/training/backend.hpp"
#include "train_plan.hpp"
#include "train_progress.hpp"
#include "train_table.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

/// What is known before anything is trained.
struct TrainJob : Job {
  std::vector<studies::TrainRun> runs;
  std::vector<PlannedRun> planned;
  std::vector<std::string> data_hashes;
  studies::TaskMaker make_task;
};

/// "weights-2.npz" for the second of several runs.
std::string weights_path(const std::string& file_path, std::size_t run, std::size_t count) {
  if (count == 1) return file_path;
  const std::size_t dot = file_path.rfind('.');
  return fmt::format("{}-{}{}", file_path.substr(0, dot), run + 1, file_path.substr(dot));
}

void check_weights_paths(const Options& options, const TrainJob& job) {
  if (options.weights.empty()) return;
  io::check_weights_path(options.weights);
  for (std::size_t i = 0; i < job.runs.size(); ++i) {
    io::check_output_path(weights_path(options.weights, i, job.runs.size()), job.overwrite);
  }
}

/// Makes every task once: faults of the last run show before the first one is trained.
std::string read_data(const Options& options, TrainJob& job, Observer& observer) {
  if (options.verbose) {
    const std::string obstacle = training::training_obstacle();
    observer.note(obstacle.empty() ? training::training_backend() : obstacle);
  }
  job.runs = studies::train_runs(job.study);
  job.make_task = io::training_task_maker();
  for (const studies::TrainRun& run : job.runs) {
    const studies::TrainTask task = job.make_task(run.study);
    studies::check_train_run(run.study, *task.task);
    job.planned.push_back({studies::run_label(run.settings, run.study),
                           studies::run_variant(run.study), run.study.seed,
                           studies::train_cost(run.study, task.task->format()), task.task->format(),
                           run.study});
    job.data_hashes.push_back(task.content_hash);
  }
  return studies::combined_data_hash(job.data_hashes);
}

/// Is the output what an interrupted call left of this grid, or of one that has been changed since?
/// Then every run in it lies in the checkpoints too, and overwriting it loses nothing; checkpoints
/// of another grid are an Error{kBadStudy} that names the keys.
bool goes_on(const Options& options, const TrainJob& job) {
  if (is_partial_result_of(options, job)) return true;
  if (!io::is_result_file(options.output)) return false;
  const io::ResultProvenance stored = io::read_result_provenance(options.output);
  if (!stored.partial) return false;
  const studies::Study study = io::parse_study(stored.study_toml, options.output);
  if (!studies::is_training_task(study.task.kind)) return false;
  const io::TrainCheckpoints kept(options.output, job.runs, job.data_hashes, false);
  return kept.resumable() + kept.finished() > 0;
}

/// Earlier runs of this grid, and where this call keeps its own.
studies::TrainHooks keep_checkpoints(const Options& options, TrainJob& job) {
  if (options.output.empty()) return {};
  const auto checkpoints = std::make_shared<io::TrainCheckpoints>(options.output, job.runs,
                                                                  job.data_hashes, options.force);
  job.remove_checkpoints = [checkpoints] { checkpoints->remove(); };
  if (checkpoints->resumable() + checkpoints->finished() > 0 && !options.quiet) {
    write_message(fmt::format("headway: going on with {} runs, {} are done already, from {}",
                              checkpoints->resumable(), checkpoints->finished(),
                              checkpoints->folder()));
  }
  return checkpoints->hooks();
}

studies::TrainResult compute(const Options& options, TrainJob& job, TerminalObserver& observer) {
  static_cast<void>(training::training_backend());  // Error{kUnavailable} without LibTorch
  studies::TrainHooks hooks = keep_checkpoints(options, job);
  const double peak =
      options.quiet ? 0.0 : training::measure_peak_flops(resolve_threads(job.study.threads));
  TrainProgress progress(options.quiet, peak, observer);
  hooks.begin = [&](std::size_t run, const studies::TrainedRun& trained) {
    progress.begin(run, job.runs.size(), trained, job.runs[run].study);
  };
  hooks.record = [&](std::size_t run, const studies::TrainedRun& trained,
                     const training::TrainRecord& record) {
    if (options.json) write_output(io::train_record_json(run, trained, record) + "\n");
    progress.record(record);
  };
  return studies::train(job.runs, job.make_task, progress, hooks);
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

Outcome train_outcome(const studies::TrainResult& result) {
  Outcome outcome{"", result.interrupted, result.seconds, result.threads};
  std::size_t done = 0;
  for (const studies::TrainedRun& run : result.runs) {
    done += run.done() ? 1 : 0;
    const std::string fault = studies::training_fault(run);
    if (fault.empty()) continue;
    outcome.faults.push_back(
        fmt::format("{}, seed {}: not usable: {}", run.label, run.seed, fault));
  }
  outcome.done = fmt::format("{} of {} runs done", done, result.planned);
  return outcome;
}

std::string plan(const Options& options, const TrainJob& job) {
  const TrainPlan all{job.planned, studies::split_ceilings(job.runs.front().study)};
  return options.json ? train_plan_json(job.study, all)
                      : train_plan_text(job.study, all, options.output);
}

}  // namespace

Verb train_verb() {
  return make_verb<TrainJob, studies::TrainResult>(
      {"train",
       "transformers or networks of attention paths on fuzzy logic, SRAVEN, text or drawings",
       {"", "task", "train", "sweep"},
       {{"--export", "FILE",
         "the parameters at the end (not of the best checkpoint) as NumPy arrays (.npz) "
         "or .safetensors; several runs of a sweep: one file each, numbered",
         &Options::weights}}},
      {.load = &load_study<TrainJob>,
       .read_data = &read_data,
       .goes_on = &goes_on,
       .check_exports = &check_weights_paths,
       .plan = &plan,
       .compute = &compute,
       .outcome = &train_outcome,
       .write =
           [](const Options& options, const TrainJob& job, const studies::TrainResult& result) {
             io::write_train_result(options.output, job.study, result, job.provenance,
                                    job.overwrite);
           },
       .write_exports = &export_weights,
       .print =
           [](const Options& options, const TrainJob& job, const studies::TrainResult& result) {
             return options.json ? io::train_summary_json(job.study, result) + "\n"
                                 : train_table(job.study, result);
           }});
}

}  // namespace headway::cli
