#include "headway/latents.hpp"

#include <fmt/format.h>

#include "headway/core/text.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/results/table.hpp"
#include "headway/study/study_hash.hpp"
#include "jobs/job_for.hpp"
#include "jobs/json_text.hpp"
#include "jobs/outcomes.hpp"
#include "jobs/train_job.hpp"
#include "jobs/trained_data.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

/// A result of `train` has the networks. Anything else is a study, whose networks are trained
/// first.
class LatentsJob final : public JobFor<LatentsResult, TrainStart> {
 public:
  using JobFor::JobFor;

 private:
  void load() override {
    trained_ = io::is_result_file(request.input) && io::read_result_kind(request.input) == "train";
    if (!trained_) return TrainStart::load();
    // Not of origin kResultFile, so that no codes are written over the networks.
    study = io::read_trained_study(request.input, request.study_overlays(),
                                   {"latents.", "threads", "name", "train.device"});
  }
  std::string read_data(Observer& observer) override {
    if (!headway::is_training_task(study.task.kind())) headway::check_latents(study);
    return trained_ ? read_networks(observer) : read_runs(observer);
  }
  [[nodiscard]] bool goes_on() const override { return !trained_ && TrainStart::goes_on(); }
  [[nodiscard]] std::string plan() const override {
    const LatentsOptions& wanted = study.latents;
    const std::size_t count = trained_ ? networks_.size() : runs_.size();
    if (request.json) {
      return json_text({{"dry_run", true},
                        {"verb", "latents"},
                        {"study", study.name},
                        {"study_hash", headway::study_hash(study)},
                        {"task", word_of(study.task.kind())},
                        {"trains_first", !trained_},
                        {"networks", count},
                        {"examples", wanted.examples},
                        {"weights", word_of(wanted.weights)}});
    }
    return wrapped(fmt::format(
        "{}: {}, {}{}\n{}{} codes of training tasks and {} of held-out tasks each, {} "
        "weights\n"
        "output {}\n",
        study.name, word_of(study.task.kind()), count_text(count, "network"),
        trained_     ? ""
        : count == 1 ? ", which is trained first"
                     : ", which are trained first",
        study.task.kind() == TaskKind::kArrays ? "up to " : "", wanted.examples, wanted.examples,
        word_of(wanted.weights), request.output.empty() ? "none" : request.output));
  }
  LatentsResult compute(Observer& observer) override {
    if (trained_) return headway::latents(networks_, make_task_, observer);
    const TrainResult trained = train_grid(observer);
    for (const TrainedRun& run : trained.runs) {
      const std::string fault = headway::training_fault(run);
      if (!fault.empty()) {
        observer.warning(fmt::format("{}, seed {} is left out: {}", run.label, run.seed, fault));
      }
    }
    LatentsResult result = headway::latents(
        headway::trained_networks(runs_, trained, study.latents.weights), make_task_, observer);
    result.planned = runs_.size();
    result.interrupted = result.interrupted || trained.interrupted;
    result.seconds += trained.seconds;
    return result;
  }
  [[nodiscard]] Outcome outcome_of(const LatentsResult& result) const override {
    Outcome outcome = networks_outcome(result);
    for (const LatentRun& run : result.runs) {
      for (const std::string& fault : headway::latent_faults(run)) {
        outcome.faults.push_back(
            fmt::format("{}, seed {}: not usable: {}", run.label, run.seed, fault));
      }
    }
    return outcome;
  }

  std::string read_runs(Observer& observer) {
    std::string hash = TrainStart::read_data(observer);
    for (const TrainRun& run : runs_) headway::check_latents(headway::latents_study(run.study));
    if (origin == io::StudyOrigin::kResultFile) {
      observer.warning(
          fmt::format("{}: holds no networks, so {} must be trained again. Give the result of "
                      "headway train, if "
                      "you have it, to read the networks that were trained",
                      request.input, count_text(runs_.size(), "network")));
    }
    return hash;
  }
  std::string read_networks(Observer& observer) {
    make_task_ = headway::make_task_maker(task_files(request));
    networks_ = io::read_trained_networks(request.input, study, study.latents.weights, observer);
    for (const TrainedNetwork& network : networks_) {
      headway::check_latents(headway::latents_study(network.study));
    }
    require_training_data(request, request.study_overlays(), networks_.front().data_hash, observer);
    return networks_.front().data_hash;
  }

  bool trained_ = false;  ///< the input is a result of `train`
  std::vector<TrainedNetwork> networks_;
};

}  // namespace

std::shared_ptr<Job> latents_job(Request request) {
  return std::make_shared<LatentsJob>(std::move(request));
}

}  // namespace headway::jobs
