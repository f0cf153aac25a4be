#include "headway/sample.hpp"

#include "headway/checkpoints.hpp"
#include "jobs/ranks_share.hpp"
#include "jobs/theory_job.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

class SampleJob final : public SharedJob<TheoryJob<SampleResult>> {
 public:
  explicit SampleJob(Request asked)
      : SharedJob(std::move(asked), TheoryTraits{.verb = "sample", .kind = TheoryVerb::kSamples}) {}

 private:
  [[nodiscard]] bool resumes() const override { return true; }
  SampleResult compute(Observer& observer) override {
    return headway::sample(study, dataset_, observer, kept(observer, request.force), reused(),
                           shard);
  }
  /// Draws of a piece of a point reach the rank that finishes the point through checkpoints, so
  /// that without an output there are no pieces.
  std::optional<SampleResult> share(Observer& observer) override {
    return share_units(
        observer, [&] { return shared_sample(study, dataset_, kept(observer, false), reused()); });
  }
  [[nodiscard]] Outcome outcome_of(const SampleResult& result) const override {
    return sample_outcome(result);
  }

  SampleHooks kept(Observer& observer, bool force) {
    return checkpoint_hooks<SampleCheckpoints>(observer, force);
  }
};

}  // namespace

std::shared_ptr<Job> sample_job(Request request) {
  return std::make_shared<SampleJob>(std::move(request));
}

}  // namespace headway::jobs
