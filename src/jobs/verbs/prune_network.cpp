#include "headway/prune_network.hpp"

#include <fmt/format.h>

#include "headway/core/text.hpp"
#include "headway/io/theory_scores.hpp"
#include "headway/io/trained_network.hpp"
#include "jobs/job_for.hpp"
#include "jobs/json_text.hpp"
#include "jobs/outcomes.hpp"
#include "jobs/trained_data.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

class PruneNetworkJob final : public JobFor<NetworkPruneResult> {
 public:
  /// `verb`: the name that it was called by.
  PruneNetworkJob(Request asked, const char* verb) : JobFor(std::move(asked)), verb_(verb) {}

 private:
  void load() override {
    study = io::read_trained_study(request.input, request.study_overlays(),
                                   {"prune.", "seed", "threads", "name", "task.files"});
    theory_ = io::read_theory_scores(study.prune.trained().theory);
  }
  std::string read_data(Observer& observer) override {
    networks_ = io::read_trained_networks(
        request.input, study, study.prune.trained().weights.value_or(KeptWeights::kBest), observer);
    require_training_data(request, request.study_overlays(), networks_.front().data_hash, observer);
    return networks_.front().data_hash;
  }
  [[nodiscard]] std::string plan() const override {
    if (request.json) {
      return json_text({{"dry_run", true},
                        {"verb", verb_},
                        {"study", study.name},
                        {"runs", networks_.size()},
                        {"theory", study.prune.trained().theory}});
    }
    return fmt::format(
        "{}: heads of {}, removed from the networks themselves\n"
        "beside them {} of the theory\noutput {}\n",
        study.name, count_text(networks_.size(), "network"), count_text(theory_.size(), "result"),
        request.output.empty() ? "none" : request.output);
  }
  NetworkPruneResult compute(Observer& observer) override {
    return headway::prune_network(study, networks_, theory_,
                                  headway::make_task_maker(task_files(request)), observer);
  }
  [[nodiscard]] Outcome outcome_of(const NetworkPruneResult& result) const override {
    return networks_outcome(result);
  }

  const char* verb_;
  std::vector<TrainedNetwork> networks_;
  std::vector<TheoryScores> theory_;
};

}  // namespace

bool is_of_networks(const Request& request) {
  if (request.study_text || !io::is_result_file(request.input)) return false;
  return headway::is_training_task(io::read_study(request.input, {}).study.task.kind());
}

std::shared_ptr<Job> prune_network_job(Request request) {
  return std::make_shared<PruneNetworkJob>(std::move(request), "prune-network");
}

std::shared_ptr<Job> prune_networks_as_prune(Request request) {
  return std::make_shared<PruneNetworkJob>(std::move(request), "prune");
}

}  // namespace headway::jobs
