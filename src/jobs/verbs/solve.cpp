#include "headway/solve.hpp"

#include "headway/checkpoints.hpp"
#include "jobs/ranks_share.hpp"
#include "jobs/theory_job.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

class SolveJob final : public SharedJob<TheoryJob<SolveResult>> {
 public:
  explicit SolveJob(Request asked)
      : SharedJob(std::move(asked), TheoryTraits{.verb = "solve", .reuses = false}) {}

 private:
  [[nodiscard]] bool resumes() const override { return true; }
  SolveResult compute(Observer& observer) override {
    return headway::solve(study, dataset_, observer, kept(observer, request.force), shard);
  }
  std::optional<SolveResult> share(Observer& observer) override {
    if (study.solve.kernels == theory::KernelForm::kDistributed) return share_problem(observer);
    return share_units(observer,
                       [&] { return shared_solve(study, dataset_, kept(observer, false)); });
  }
  [[nodiscard]] Outcome outcome_of(const SolveResult& result) const override {
    return solve_outcome(result, result.seconds);
  }

  /// One problem at a time over all ranks, which the first keeps checkpoints of.
  std::optional<SolveResult> share_problem(Observer& observer) {
    SolveHooks hooks;
    const auto keep = [&] {
      if (ranks().is_first()) hooks = kept(observer, request.force);
    };
    if (!agree(ranks(), keep)) return std::nullopt;
    Observer silent;  // the first rank decides for all when to stop
    SolveResult result = headway::solve_on_ranks(ranks(), study, dataset_,
                                                 ranks().is_first() ? observer : silent, hooks);
    return ranks().is_first() ? std::optional(std::move(result)) : std::nullopt;
  }
  SolveHooks kept(Observer& observer, bool force) {
    return checkpoint_hooks<SolveCheckpoints>(observer, force);
  }
};

}  // namespace

std::shared_ptr<Job> solve_job(Request request) {
  return std::make_shared<SolveJob>(std::move(request));
}

}  // namespace headway::jobs
