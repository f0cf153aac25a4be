#include <unistd.h>

#include <algorithm>
#include <utility>

#include "headway/core/parallel.hpp"
#include "headway/schedule.hpp"

namespace headway {
namespace {

class SharedSolve final : public SharedStudy<SolveResult> {
 public:
  SharedSolve(const Study& study, const tasks::Dataset& dataset, const SolveHooks& hooks)
      : study_(study), dataset_(dataset), hooks_(hooks) {}

  [[nodiscard]] const char* unit_name() const override { return "chains of points"; }
  [[nodiscard]] std::size_t units() const override { return solve_chains(study_).size(); }
  void make_ready(Observer& observer) override {
    solver_ = prepare_solve(study_, dataset_, observer, hooks_);
  }
  SolveResult part(const Shard& unit) override { return solver_(unit); }
  [[nodiscard]] SolveResult join(Parts<SolveResult> parts) const override {
    return merge_parts(study_, std::move(parts));
  }

 private:
  const Study& study_;
  const tasks::Dataset& dataset_;
  SolveHooks hooks_;
  PartSolver solver_;
};

class SharedSample final : public SharedStudy<SampleResult> {
 public:
  SharedSample(const Study& study, const tasks::Dataset& dataset, const SampleHooks& hooks,
               const SolveResult* known)
      : study_(study), dataset_(dataset), hooks_(hooks), known_(known) {}

  [[nodiscard]] const char* unit_name() const override { return "points"; }
  [[nodiscard]] std::size_t units() const override { return sample_points(study_, {}).size(); }
  void make_ready(Observer& observer) override {
    parts_ = prepare_sample(study_, dataset_, observer, hooks_, known_);
  }
  SampleResult part(const Shard& unit) override { return parts_.part(unit); }
  [[nodiscard]] SampleResult join(Parts<SampleResult> parts) const override {
    return merge_parts(study_, std::move(parts));
  }

  /// The draws of a piece reach the rank that finishes the point through the hooks: without them
  /// there are no pieces.
  [[nodiscard]] std::size_t pieces(int threads) const override {
    if (!hooks_.load_chains) return 0;
    const int pieces = (study_.sample.chains + threads - 1) / threads;
    return pieces > 1 ? static_cast<std::size_t>(pieces) : 0;
  }
  bool piece(std::size_t unit, const Shard& piece) override { return parts_.chains(unit, piece); }

 private:
  const Study& study_;
  const tasks::Dataset& dataset_;
  SampleHooks hooks_;
  const SolveResult* known_;
  SampleParts parts_;
};

class SharedTrain final : public SharedStudy<TrainResult> {
 public:
  SharedTrain(const Study& study, const std::vector<TrainRun>& runs, const TaskMaker& make_task,
              const TrainHooks& hooks)
      : study_(study), runs_(runs), make_task_(make_task), hooks_(hooks) {}

  [[nodiscard]] const char* unit_name() const override { return "runs"; }
  [[nodiscard]] std::size_t units() const override { return runs_.size(); }
  void make_ready(Observer& observer) override { observer_ = &observer; }
  TrainResult part(const Shard& unit) override {
    return train_part(runs_, dealt_units(runs_.size(), unit), make_task_, *observer_, hooks_,
                      {1, study_.threads});
  }
  [[nodiscard]] TrainResult join(Parts<TrainResult> parts) const override {
    return merge_parts(study_, std::move(parts));
  }

 private:
  const Study& study_;
  const std::vector<TrainRun>& runs_;
  const TaskMaker& make_task_;
  TrainHooks hooks_;
  Observer* observer_ = nullptr;
};

}  // namespace

std::unique_ptr<SharedStudy<SolveResult>> shared_solve(const Study& study,
                                                       const tasks::Dataset& dataset,
                                                       const SolveHooks& hooks) {
  return std::make_unique<SharedSolve>(study, dataset, hooks);
}

std::unique_ptr<SharedStudy<SampleResult>> shared_sample(const Study& study,
                                                         const tasks::Dataset& dataset,
                                                         const SampleHooks& hooks,
                                                         const SolveResult* known) {
  return std::make_unique<SharedSample>(study, dataset, hooks, known);
}

std::unique_ptr<SharedStudy<TrainResult>> shared_train(const Study& study,
                                                       const std::vector<TrainRun>& runs,
                                                       const TaskMaker& make_task,
                                                       const TrainHooks& hooks) {
  return std::make_unique<SharedTrain>(study, runs, make_task, hooks);
}

int threads_of_rank(int wanted, const Ranks& ranks) {
  const int available = resolve_threads(wanted);
  const bool bound = available < sysconf(_SC_NPROCESSORS_ONLN);
  if (wanted > 0 || bound) return available;
  return std::max(1, available / ranks.on_this_machine());
}

}  // namespace headway
