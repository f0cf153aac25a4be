#include "headway/latents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "columns.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/result_file.hpp"
#include "headway/study/study_hash.hpp"
#include "json_text.hpp"
#include "outcomes.hpp"
#include "table.hpp"
#include "train_course.hpp"
#include "trained_data.hpp"
#include "trained_network_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

struct LatentsJob : TrainJob {
  bool trained = false;  ///< the input is a result of `train`
  std::vector<TrainedNetwork> networks;
};

/// A result of `train` has the networks. Anything else is a study, whose networks are trained
/// first.
LatentsJob load_latents_job(const Options& options) {
  if (!io::is_result_file(options.input) || io::read_result_kind(options.input) != "train") {
    return load_study<LatentsJob>(options);
  }
  LatentsJob job;
  job.trained = true;
  job.study = io::read_trained_study(options.input, options.study_overlays(),
                                     {"latents.", "threads", "name", "train.device"});
  return job;  // not of origin kResultFile, so that no codes are written over the networks
}

std::string read_latents_data(const Options& options, LatentsJob& job, Observer& observer) {
  if (!headway::is_training_task(job.study.task.kind())) headway::check_latents(job.study);
  if (!job.trained) {
    std::string hash = read_training_data(options, job, observer);
    for (const TrainRun& run : job.runs) headway::check_latents(headway::latents_study(run.study));
    if (job.origin == io::StudyOrigin::kResultFile) {
      observer.warning(
          fmt::format("{}: holds no networks, so {} must be trained again. Give the result of "
                      "headway train, if "
                      "you have it, to read the networks that were trained",
                      options.input, count_text(job.runs.size(), "network")));
    }
    return hash;
  }
  job.make_task = headway::make_task_maker(task_files(options));
  job.networks =
      io::read_trained_networks(options.input, job.study, job.study.latents.weights, observer);
  for (const TrainedNetwork& network : job.networks) {
    headway::check_latents(headway::latents_study(network.study));
  }
  require_training_data(options, options.study_overlays(), job.networks.front().data_hash,
                        observer);
  return job.networks.front().data_hash;
}

bool goes_on(const Options& options, const LatentsJob& job) {
  return !job.trained && training_goes_on(options, job);
}

LatentsResult compute_latents(const Options& options, LatentsJob& job, Observer& observer) {
  if (job.trained) return headway::latents(job.networks, job.make_task, observer);
  const TrainResult trained = train_grid(options, job, observer, {});
  for (const TrainedRun& run : trained.runs) {
    const std::string fault = headway::training_fault(run);
    if (!fault.empty()) {
      observer.warning(fmt::format("{}, seed {} is left out: {}", run.label, run.seed, fault));
    }
  }
  LatentsResult result =
      headway::latents(headway::trained_networks(job.runs, trained, job.study.latents.weights),
                       job.make_task, observer);
  result.planned = job.runs.size();
  result.interrupted = result.interrupted || trained.interrupted;
  result.seconds += trained.seconds;
  return result;
}

Outcome latents_outcome(const LatentsResult& result) {
  Outcome outcome = networks_outcome(result);
  for (const LatentRun& run : result.runs) {
    for (const std::string& fault : headway::latent_faults(run)) {
      outcome.faults.push_back(
          fmt::format("{}, seed {}: not usable: {}", run.label, run.seed, fault));
    }
  }
  return outcome;
}

std::string plan_latents(const Options& options, const LatentsJob& job) {
  const LatentsOptions& wanted = job.study.latents;
  const std::size_t count = job.trained ? job.networks.size() : job.runs.size();
  if (options.json) {
    return json_text({{"dry_run", true},
                      {"verb", "latents"},
                      {"study", job.study.name},
                      {"study_hash", headway::study_hash(job.study)},
                      {"task", word_of(job.study.task.kind())},
                      {"trains_first", !job.trained},
                      {"networks", count},
                      {"examples", wanted.examples},
                      {"weights", word_of(wanted.weights)}});
  }
  return wrapped(
      fmt::format("{}: {}, {}{}\n{} codes of training tasks and {} of held-out tasks each, {} "
                  "weights\n"
                  "output {}\n",
                  job.study.name, word_of(job.study.task.kind()), count_text(count, "network"),
                  job.trained ? "" : ", which are trained first", wanted.examples, wanted.examples,
                  word_of(wanted.weights), options.output.empty() ? "none" : options.output));
}

std::vector<ExplainedTable> latents_tables() {
  const Explained layer = {"layer", "of the codes, from 1; all: the codes of all layers together"};
  return {{"First table, what is decoded",
           {kVariantColumn,
            kSeedsColumn,
            layer,
            {"decoder",
             "what is asked: term, bits (fuzzy logic), rule (SRAVEN), or answer, the right answer"},
            {"metric", "how the answers are scored: f1, balanced_accuracy or r2"},
            {"train", "score on tasks of training"},
            {"held out", "score on tasks never seen, mean over seeds with its standard error"},
            {"+- tasks", "standard error of that score over the held-out tasks"},
            {"chance", "the best score without looking at the codes"},
            {"shuffled", "score of decoders fitted to labels exchanged between tasks"},
            {"untrained", "score with the random weights that training began with"}}},
          {"Second table, how alike the codes are",
           {kVariantColumn,
            layer,
            {"same label, different labels",
             "mean cosine between a code of a training task and one of a held-out task"}}}};
}

}  // namespace

Verb latents_verb() {
  return make_verb<LatentsJob, LatentsResult>(
      {.name = "latents",
       .summary = "decode what the attention weights of trained networks say of unseen tasks",
       .sections = {"latents"},
       .tasks = headway::Side::kTraining,
       .about =
           "Takes the attention weights of a query-key pair over the heads, the latent code of "
           "that pair. Linear decoders are fitted to the codes of training tasks and asked about "
           "tasks that neither network nor decoder has seen. A study in place of a result is "
           "trained first.",
       .tables = latents_tables(),
       .examples = {{"headway latents small.h5 -o codes.h5", "networks of a train result"},
                    {"headway latents fuzzy-logic-latents -o codes.h5", "a study, trained first"}},
       .input =
           "result of headway train (HDF5) that holds the weights, or a study, which is trained "
           "first"},
      {.load = &load_latents_job,
       .read_data = &read_latents_data,
       .goes_on = &goes_on,
       .plan = &plan_latents,
       .compute = &compute_latents,
       .outcome = &latents_outcome,
       .table = &latents_table});
}

}  // namespace headway::cli
