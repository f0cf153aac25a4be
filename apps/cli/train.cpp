#include <fmt/format.h>

#include <filesystem>

#include "columns.hpp"
#include "headway/core/output_path.hpp"
#include "headway/error.hpp"
#include "headway/io/weights_file.hpp"
#include "headway/result_file.hpp"
#include "headway/training/backend.hpp"
#include "outcomes.hpp"
#include "rank_course.hpp"
#include "terminal.hpp"
#include "train_course.hpp"
#include "train_table.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

/// "weights-2.npz" for the second of several runs.
std::string weights_path(const std::string& file_path, std::size_t run, std::size_t count) {
  if (count == 1) return file_path;
  const std::size_t dot = file_path.rfind('.');
  return fmt::format("{}-{}{}", file_path.substr(0, dot), run + 1, file_path.substr(dot));
}

/// The path without links, or as it is where the system cannot follow it.
std::filesystem::path followed(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, failure);
  return failure ? std::filesystem::path(path) : canonical;
}

void check_weights_paths(const Options& options, const TrainJob& job) {
  if (options.weights.empty()) return;
  io::check_weights_path(options.weights);
  for (const std::size_t i : headway::dealt_units(job.runs.size(), job.shard)) {
    const std::string path = weights_path(options.weights, i, job.runs.size());
    if (!options.output.empty() && followed(path) == followed(options.output)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--export {}: must be another file than --output", path));
    }
    check_output_path(path, job.overwrite);
  }
}

/// Prints each record as a line of JSON, if JSON is wanted.
TrainRecordHook told_records(const Options& options) {
  if (!options.json) return {};
  return [](std::size_t run, const TrainedRun& trained, const training::TrainRecord& record) {
    write_output(io::train_record_json(run, trained, record) + "\n");
  };
}

TrainResult compute_train(const Options& options, TrainJob& job, Observer& observer) {
  return train_grid(options, job, observer, told_records(options));
}

/// Prints the records of all runs, which ranks have trained, run by run.
void print_records(const Options& options, const TrainResult& result) {
  if (!options.json) return;
  for (std::size_t run = 0; run < result.runs.size(); ++run) {
    for (const training::TrainRecord& record : result.runs[run].records) {
      write_output(io::train_record_json(run, result.runs[run], record) + "\n");
    }
  }
}

/// The ranks take the steps of every run together where a run of the grid has micro-batches; else
/// each trains one run after another.
std::optional<TrainResult> share_train(const Options& options, TrainJob& job, Observer& observer) {
  if (most_micro_batches(job.runs) > 1) {
    return train_together(options, job, observer, told_records(options));
  }
  const auto divide = [](const Options& mine, TrainJob& of) {
    static_cast<void>(training::training_backend());  // Error{kUnavailable} without LibTorch
    return shared_train(of.study, of.runs, of.make_task, keep_checkpoints(mine, of));
  };
  auto result = share_units<TrainResult>(options, job, observer, divide);
  if (result) print_records(options, *result);
  return result;
}

/// The number from 0 of a run in the whole sweep. The result of a shard or of an interrupted call
/// has only some of its runs.
std::size_t number_in_sweep(const TrainJob& job, const TrainedRun& run) {
  const auto found = std::ranges::find(job.runs, run.settings, &TrainRun::settings);
  return static_cast<std::size_t>(found - job.runs.begin());
}

void export_weights(const Options& options, const TrainJob& job, const TrainResult& result) {
  if (options.weights.empty()) return;
  for (const TrainedRun& run : result.runs) {
    if (!run.done() || run.state.parameters.empty()) continue;
    const std::size_t i = number_in_sweep(job, run);
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

std::string plan_train(const Options& options, const TrainJob& job) {
  TrainPlan plan{{}, job.planned.size(), headway::split_ceilings(job.runs.front().study)};
  for (const std::size_t run : headway::dealt_units(job.planned.size(), job.shard)) {
    plan.runs.push_back(job.planned[run]);
  }
  return options.json ? train_plan_json(job.study, plan)
                      : train_plan_text(job.study, plan, options.output);
}

CommandOption jobs_option() {
  CommandOption jobs{"--jobs", "N",
                     "runs at once, each with its share of the cores or --threads; by default as "
                     "many as the cores allow, on a GPU 16; changes no result, except with "
                     "train.eager",
                     &Options::jobs};
  jobs.least = 1;
  return jobs;
}

std::vector<ExplainedTable> train_tables() {
  return {
      {"A row for each variant",
       {kVariantColumn,
        kSeedsColumn,
        {"parameters", "numbers that are trained"},
        {"flops/step", "floating-point operations of a training step"},
        {"train loss",
         "training loss since the record before, at most train.log_every steps, of texts in nats "
         "a token; mean over "
         "seeds with its standard error"},
        {"SPLIT METRIC",
         "a column for each split and metric, \"held_out r2\" say: score at the end, mean over "
         "seeds with its standard error; - where a row has none"},
        {"steps/s", "training steps for each second"},
        {"seconds", "time that training took, all seeds together"},
        {"*", "marks a row with runs that were interrupted or diverged; no mean has them"}}},
      {"With --dry-run, a row for each run",
       {{"run, seed", "its number in the sweep, and its seed"},
        {"tokens", "length of a sequence"},
        {"attention", "share of the operations that attention takes"},
        {"steps, flops", "steps of the run, and its operations in all"},
        {"device", "where it would be trained"}}}};
}

}  // namespace

Verb train_verb() {
  return make_shared_verb<TrainJob, TrainResult>(
      {.name = "train",
       .summary = "train transformers, or networks of attention paths",
       .sections = {"", "task", "train", "sweep"},
       .tasks = headway::Side::kTraining,
       .own = {{"--export", "FILE",
                "write the parameters at the end (not those of the best checkpoint) as NumPy "
                "arrays (.npz) or .safetensors; several runs of a sweep get a numbered file each",
                &Options::weights, Offers::kFiles},
               jobs_option(),
               kShardOption},
       .about =
           "Trains networks with softmax, linear or hypernetwork (HYLA) attention on fuzzy logic "
           "in "
           "context, symbolic Raven matrices, one-shot images, text or examples of your own "
           "(task.kind = \"arrays\"). [sweep] makes a grid of runs. After Ctrl-C the same command "
           "goes on to the same bits. Needs LibTorch.",
       .tables = train_tables(),
       .examples = {{"headway train fuzzy-logic-small -o small.h5", "nine networks, ten minutes"},
                    {"headway train sraven-small --dry-run", "parameters, costs and device only"},
                    {"headway train text-small --export weights.npz", "and the parameters"},
                    {"headway train examples.h5 -o own.h5", "a file of headway.write_examples"}},
       .input =
           "study (TOML), the name of one that comes with Headway, a file of examples, or a result "
           "of headway train (HDF5), which is trained again",
       .json = "print JSON lines and nothing else: one object for each record of training, and the "
               "result in the last line"},
      {.load = &load_study<TrainJob>,
       .read_data = &read_training_data,
       .goes_on = &training_goes_on,
       .check_exports = &check_weights_paths,
       .plan = &plan_train,
       .compute = &compute_train,
       .outcome = &train_outcome,
       .write_exports = &export_weights,
       .table = &train_table,
       .share = &share_train});
}

}  // namespace headway::cli
