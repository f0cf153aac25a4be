#include "headway/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "headway/core/output_path.hpp"
#include "headway/error.hpp"
#include "headway/io/weights_file.hpp"
#include "headway/training/backend.hpp"
#include "jobs/outcomes.hpp"
#include "jobs/ranks_share.hpp"
#include "jobs/train_job.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

/// "weights-2.npz" for the second of several runs.
std::string weights_path(const std::string& file_path, std::size_t run, std::size_t count) {
  if (count == 1) return file_path;
  const std::size_t dot = file_path.rfind('.');
  return fmt::format("{}-{}{}", file_path.substr(0, dot), run + 1, file_path.substr(dot));
}

/// The path without links, or as it is where the system cannot follow it.
std::filesystem::path followed(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, failure);
  return failure ? std::filesystem::path(path) : canonical;
}

class TrainJob final : public SharedJob<JobFor<TrainResult, TrainStart>> {
 public:
  using SharedJob::SharedJob;

 private:
  void check_exports() const override {
    if (request.weights.empty()) return;
    io::check_weights_path(request.weights);
    for (const std::size_t i : headway::dealt_units(runs_.size(), shard)) {
      const std::string path = weights_path(request.weights, i, runs_.size());
      if (!request.output.empty() && followed(path) == followed(request.output)) {
        throw Error(ErrorKind::kUsage,
                    fmt::format("--export {}: must be another file than --output", path));
      }
      check_output_path(path, overwrite_);
    }
  }
  [[nodiscard]] std::string plan() const override {
    TrainPlan plan{{}, planned_runs_.size(), headway::split_ceilings(runs_.front().study)};
    for (const std::size_t run : headway::dealt_units(planned_runs_.size(), shard)) {
      plan.runs.push_back(planned_runs_[run]);
    }
    return request.json ? train_plan_json(study, plan)
                        : train_plan_text(study, plan, request.output);
  }
  TrainResult compute(Observer& observer) override { return train_grid(observer); }
  /// The ranks take the steps of every run together where a run of the grid has micro-batches; else
  /// each trains one run after another.
  std::optional<TrainResult> share(Observer& observer) override {
    if (most_micro_batches() > 1) return train_together(observer);
    const auto divide = [&] {
      static_cast<void>(training::training_backend());  // Error{kUnavailable} without LibTorch
      return shared_train(study, runs_, make_task_, keep_checkpoints(observer, false));
    };
    auto result = share_units(observer, divide);
    if (result && request.record) tell_records(*result);
    return result;
  }
  [[nodiscard]] Outcome outcome_of(const TrainResult& result) const override {
    return train_outcome(result);
  }
  void write_exports() const override {
    if (request.weights.empty()) return;
    for (const TrainedRun& run : result_.runs) {
      if (!run.done() || run.state.parameters.empty()) continue;
      const std::vector<std::pair<std::string, std::string>> notes = {
          {"study", study.name},
          {"label", run.label},
          {"seed", std::to_string(run.seed)},
          {"step", std::to_string(run.state.step)},
          {"headway_version", provenance.headway_version}};
      io::write_weights(weights_path(request.weights, number_in_sweep(run), runs_.size()),
                        run.state.parameters, notes, overwrite_);
    }
  }

  /// The records of all runs, which ranks have trained, run by run.
  void tell_records(const TrainResult& result) const {
    for (std::size_t run = 0; run < result.runs.size(); ++run) {
      for (const training::TrainRecord& record : result.runs[run].records) {
        request.record(run, result.runs[run], record);
      }
    }
  }
  /// The number from 0 of a run in the whole sweep. The result of a shard or of an interrupted call
  /// has only some of its runs.
  [[nodiscard]] std::size_t number_in_sweep(const TrainedRun& run) const {
    const auto found = std::ranges::find(runs_, run.settings, &TrainRun::settings);
    return static_cast<std::size_t>(found - runs_.begin());
  }
};

}  // namespace

std::shared_ptr<Job> train_job(Request request) {
  return std::make_shared<TrainJob>(std::move(request));
}

}  // namespace headway::jobs
