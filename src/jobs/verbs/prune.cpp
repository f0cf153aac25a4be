#include "headway/prune.hpp"

#include <fmt/format.h>

#include "headway/error.hpp"
#include "jobs/request_keys.hpp"
#include "jobs/theory_job.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

class PruneJob final : public TheoryJob<PruneResult> {
 public:
  explicit PruneJob(Request asked) : TheoryJob(std::move(asked), {.verb = "prune"}) {}

 private:
  PruneResult compute(Observer& observer) override {
    warn_of_unused(request, {"prune.theory", "prune.removed_as", "prune.weights", "prune.examples"},
                   "no trained network is pruned", observer);
    return headway::prune(study, dataset_, observer, reused());
  }
  [[nodiscard]] Outcome outcome_of(const PruneResult& result) const override {
    return solve_outcome(result.solve, result.seconds, result.points.size());
  }
};

}  // namespace

std::shared_ptr<Job> prune_job(Request request) {
  if (is_of_networks(request)) {  // as it did before prune-network had a name of its own
    refuse_point_of_networks(request);
    return prune_networks_as_prune(std::move(request));
  }
  if (!request.theory.empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--theory {}: must not be given with {}, which is no result of headway train",
                    request.theory, request.input));
  }
  return std::make_shared<PruneJob>(std::move(request));
}

}  // namespace headway::jobs
