#include "headway/rank.hpp"

#include <fmt/format.h>

#include "headway/core/text.hpp"
#include "headway/io/trained_network.hpp"
#include "jobs/json_text.hpp"
#include "jobs/outcomes.hpp"
#include "jobs/theory_job.hpp"
#include "jobs/trained_data.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

Outcome rank_outcome(const RankResult& result) { return networks_outcome(result, "rankings"); }

class RankNetworksJob final : public JobFor<RankResult> {
 public:
  using JobFor::JobFor;

 private:
  void load() override {
    study = io::read_trained_study(request.input, request.study_overlays(),
                                   {"rank.", "seed", "threads", "name"});
  }
  std::string read_data(Observer& observer) override {
    networks_ = io::read_trained_networks(request.input, study, KeptWeights::kBest, observer);
    require_training_data(request, request.study_overlays(), networks_.front().data_hash, observer);
    return networks_.front().data_hash;
  }
  [[nodiscard]] std::string plan() const override {
    const Index examples = study.rank.examples;
    if (request.json) {
      return json_text({{"dry_run", true},
                        {"verb", "rank"},
                        {"study", study.name},
                        {"networks", networks_.size()},
                        {"examples", examples}});
    }
    return fmt::format("{}: heads of {}, each removed on {}\noutput {}\n", study.name,
                       count_text(networks_.size(), "network"), count_text(examples, "example"),
                       request.output.empty() ? "none" : request.output);
  }
  RankResult compute(Observer& observer) override {
    return headway::rank_networks(study, networks_, headway::make_task_maker(task_files(request)),
                                  observer);
  }
  [[nodiscard]] Outcome outcome_of(const RankResult& result) const override {
    return rank_outcome(result);
  }

  std::vector<TrainedNetwork> networks_;
};

class RankPartsJob final : public TheoryJob<RankResult> {
 public:
  explicit RankPartsJob(Request asked)
      : TheoryJob(std::move(asked), {.verb = "rank", .reuses = false}) {}

 private:
  RankResult compute(Observer& observer) override {
    return headway::rank_parts(study, dataset_, observer);
  }
  [[nodiscard]] Outcome outcome_of(const RankResult& result) const override {
    return rank_outcome(result);
  }
};

}  // namespace

std::shared_ptr<Job> rank_job(Request request) {
  if (is_of_networks(request)) return std::make_shared<RankNetworksJob>(std::move(request));
  return std::make_shared<RankPartsJob>(std::move(request));
}

}  // namespace headway::jobs
