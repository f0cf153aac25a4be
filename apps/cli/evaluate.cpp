#include "headway/evaluate.hpp"

#include <fmt/format.h>

#include "columns.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/result_file.hpp"
#include "headway/study/sections.hpp"
#include "json_text.hpp"
#include "outcomes.hpp"
#include "shipped_studies.hpp"
#include "trained_data.hpp"
#include "trained_network_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

struct EvaluateJob : Job {
  std::vector<TrainedNetwork> networks;
  TaskChange change;
  TaskMaker make_task;
  bool other_files = false;  ///< the change names files itself: other data are meant
};

bool is_task_key(const std::string& overlay) {
  return io::overlay_key(overlay).starts_with("task.");
}

/// --set task.key=value changes the data that the networks are put on. Other keys change how they
/// are evaluated.
EvaluateJob load_evaluate_job(const Options& options) {
  EvaluateJob job;
  std::vector<std::string> overlays = options.study_overlays(), task;
  for (const std::string& overlay : overlays) {
    if (is_task_key(overlay)) task.push_back(overlay);
    const std::string key = io::overlay_key(overlay);
    job.other_files = job.other_files || key == "task.file" || key == "task.files";
  }
  std::erase_if(overlays, is_task_key);
  job.study = io::read_trained_study(
      options.input, overlays,
      {"task.", "evaluate.", "threads", "name", "train.device", "train.eval_batch"});
  job.other_files = job.other_files || !options.task.empty();
  if (!options.task.empty()) job.change.study = io::read_study(find_input(options.task)).study;
  job.change.keys = io::task_overlays(task);
  return job;  // not of origin kResultFile, so that nothing is written over the networks
}

std::string read_evaluate_data(const Options& options, EvaluateJob& job, Observer& observer) {
  job.make_task = headway::make_task_maker(task_files(options));
  job.networks =
      io::read_trained_networks(options.input, job.study, job.study.evaluate.weights, observer);
  if (!job.other_files) {
    require_training_data(options, {}, job.networks.front().data_hash, observer);
  }
  std::vector<std::string> hashes;
  for (const TrainedNetwork& network : job.networks) {
    const Study study = headway::changed_study(network, job.change);
    const TrainTask task = job.make_task(study);
    headway::require_same_tokens(network, task);
    hashes.push_back(task.content_hash);
  }
  return headway::combined_data_hash(hashes);
}

std::string plan_evaluate(const Options& options, const EvaluateJob& job) {
  std::vector<std::string> tasks;
  for (const TrainedNetwork& network : job.networks) {
    tasks.push_back(headway::section_text(headway::changed_study(network, job.change), "task"));
  }
  const std::string task = headway::task_of_all(tasks);
  const Index examples = job.study.evaluate.examples > 0 ? job.study.evaluate.examples
                                                         : job.study.train.run.eval_examples;
  if (options.json) {
    return json_text({{"dry_run", true},
                      {"verb", "evaluate"},
                      {"study", job.study.name},
                      {"networks", job.networks.size()},
                      {"examples", examples},
                      {"weights", word_of(job.study.evaluate.weights)},
                      {"evaluated_on", task}});
  }
  return fmt::format("{}: {}, {} weights, {} of each split of\n{}output {}\n", job.study.name,
                     count_text(job.networks.size(), "network"),
                     word_of(job.study.evaluate.weights), count_text(examples, "example"), task,
                     options.output.empty() ? "none" : options.output);
}

}  // namespace

Verb evaluate_verb() {
  return make_verb<EvaluateJob, EvaluateResult>(
      {.name = "evaluate",
       .summary = "put trained networks on other data of their kind",
       .sections = {"task", "evaluate"},
       .tasks = headway::Side::kTraining,
       .own = {{"--task", "STUDY",
                "take the data from [task] of this study, a file or the name of one that comes "
                "with Headway; the split of tasks stays that of training unless it gives task.seed",
                &Options::task, Offers::kStudies}},
       .about =
           "Computes loss and metrics of every network of a train result on changed data: other "
           "lengths, splits, inputs or permutations. --set task.KEY=VALUE changes single keys. The "
           "split into training and held-out tasks stays that of training unless task.seed is "
           "given. Without a change, --set evaluate.weights=last repeats the numbers of the end "
           "of training.",
       .tables = {{"A row for each split and metric",
                   {kVariantColumn,
                    kSeedsColumn,
                    {"split", "which examples: train, held_out and others of the task"},
                    {"metric", "loss, r2, accuracy and others of the task"},
                    {"value", "mean over seeds with its standard error"}}}},
       .examples = {{"headway evaluate small.h5 --set task.sequence_length=48", "another length"},
                    {"headway evaluate sraven.h5 --task unpermuted.toml",
                     "the [task] of another study"}},
       .input = kTrainedInput,
       .seeded = false},
      {.load = &load_evaluate_job,
       .read_data = &read_evaluate_data,
       .plan = &plan_evaluate,
       .compute =
           [](const Options&, EvaluateJob& job, Observer& observer) {
             return headway::evaluate(job.networks, job.change, job.make_task, observer);
           },
       .outcome = [](const EvaluateResult& result) { return networks_outcome(result); },
       .table = &evaluate_table});
}

}  // namespace headway::cli
