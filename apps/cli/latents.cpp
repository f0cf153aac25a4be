#include "headway/studies/latents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "headway/core/error.hpp"
#include "headway/io/result_file.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/studies/study_hash.hpp"
#include "json_text.hpp"
#include "networks_table.hpp"
#include "train_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

using studies::LatentsResult;
using studies::TrainedNetwork;

struct LatentsJob : TrainJob {
  bool trained = false;  ///< the input is a result of `train`
  std::vector<TrainedNetwork> networks;
};

/// A result of `train` gives its networks; anything else is a study, whose networks are trained
/// first.
LatentsJob load_latents_job(const Options& options) {
  if (!io::is_result_file(options.input) || io::read_result_kind(options.input) != "train") {
    return load_study<LatentsJob>(options);
  }
  LatentsJob job;
  job.trained = true;
  job.study = io::read_trained_study(options.input, options.study_overlays(),
                                     {"latents.", "threads", "name", "train.device"});
  return job;  // its origin is not kResultFile: codes never take the networks' place
}

std::string read_latents_data(const Options& options, LatentsJob& job, Observer& observer) {
  if (!studies::is_training_task(job.study.task.kind)) studies::check_latents(job.study);
  if (!job.trained) {
    std::string hash = read_training_data(options, job, observer);
    for (const studies::TrainRun& run : job.runs)
      studies::check_latents(studies::latents_study(run.study));
    return hash;
  }
  job.make_task = studies::make_task_maker(io::task_files());
  job.networks =
      io::read_trained_networks(options.input, job.study, job.study.latents.weights, observer);
  for (const TrainedNetwork& network : job.networks) {
    studies::check_latents(studies::latents_study(network.study));
  }
  return job.networks.front().data_hash;
}

bool goes_on(const Options& options, const LatentsJob& job) {
  return !job.trained && training_goes_on(options, job);
}

LatentsResult compute_latents(const Options& options, LatentsJob& job, Observer& observer) {
  if (job.trained) return studies::latents(job.networks, job.make_task, observer);
  const studies::TrainResult trained = train_grid(options, job, observer, {});
  for (const studies::TrainedRun& run : trained.runs) {
    const std::string fault = studies::training_fault(run);
    if (!fault.empty()) {
      observer.warning(fmt::format("{}, seed {} is left out: {}", run.label, run.seed, fault));
    }
  }
  LatentsResult result =
      studies::latents(studies::trained_networks(job.runs, trained, job.study.latents.weights),
                       job.make_task, observer);
  result.planned = job.runs.size();
  result.interrupted = result.interrupted || trained.interrupted;
  result.seconds += trained.seconds;
  return result;
}

Outcome latents_outcome(const LatentsResult& result) {
  Outcome outcome{fmt::format("{} of {} networks", result.runs.size(), result.planned),
                  result.interrupted, result.seconds, result.threads};
  for (const studies::LatentRun& run : result.runs) {
    for (const std::string& fault : studies::latent_faults(run)) {
      outcome.faults.push_back(
          fmt::format("{}, seed {}: not usable: {}", run.label, run.seed, fault));
    }
  }
  return outcome;
}

std::string plan_latents(const Options& options, const LatentsJob& job) {
  const studies::LatentsOptions& wanted = job.study.latents;
  const std::size_t count = job.trained ? job.networks.size() : job.runs.size();
  if (options.json) {
    nlohmann::ordered_json out;
    out["dry_run"] = true;
    out["verb"] = "latents";
    out["study"] = job.study.name;
    out["study_hash"] = studies::study_hash(job.study);
    out["task"] = word_of(job.study.task.kind);
    out["trains_first"] = !job.trained;
    out["networks"] = count;
    out["examples"] = wanted.examples;
    out["weights"] = word_of(wanted.weights);
    return json_text(out);
  }
  return fmt::format(
      "{}: {}, {} networks{}\n{} codes of training tasks and {} of held-out tasks each, {} "
      "weights\n"
      "output {}\n",
      job.study.name, word_of(job.study.task.kind), count,
      job.trained ? "" : ", which are trained first", wanted.examples, wanted.examples,
      word_of(wanted.weights), options.output.empty() ? "none" : options.output);
}

}  // namespace

Verb latents_verb() {
  return make_verb<LatentsJob, LatentsResult>(
      {.name = "latents",
       .summary =
           "latent codes of trained networks, and what can be decoded from them on unseen tasks",
       .sections = {"latents"},
       .input = "result of headway train (HDF5), with weights, or a study, which is trained first"},
      {.load = &load_latents_job,
       .read_data = &read_latents_data,
       .goes_on = &goes_on,
       .plan = &plan_latents,
       .compute = &compute_latents,
       .outcome = &latents_outcome,
       .write = &write_result_file<LatentsJob, LatentsResult>,
       .print = [](const Options& options, const LatentsJob& job, const LatentsResult& result) {
         return options.json ? io::result_json(job.study, result) + "\n"
                             : latents_table(job.study, result);
       }});
}

}  // namespace headway::cli
