#include "headway/align.hpp"

#include "jobs/theory_job.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

class AlignJob final : public TheoryJob<AlignResult> {
 public:
  explicit AlignJob(Request asked)
      : TheoryJob(std::move(asked), {.verb = "align", .kind = TheoryVerb::kAligns}) {}

 private:
  AlignResult compute(Observer& observer) override {
    return headway::align(study, dataset_, observer, reused());
  }
  [[nodiscard]] Outcome outcome_of(const AlignResult& result) const override {
    return solve_outcome(result.solve, result.seconds, result.points.size());
  }
};

}  // namespace

std::shared_ptr<Job> align_job(Request request) {
  return std::make_shared<AlignJob>(std::move(request));
}

}  // namespace headway::jobs
