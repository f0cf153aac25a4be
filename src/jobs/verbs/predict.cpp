#include "headway/predict.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "headway/core/memory.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/results/table.hpp"
#include "headway/verbs/theory/plan.hpp"
#include "jobs/job_for.hpp"
#include "jobs/json_text.hpp"
#include "jobs/named_point.hpp"
#include "jobs/outcomes.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

/// The points are those of the result: only what changes no prediction may be set.
void check_overlays(const std::vector<std::string>& overlays) {
  const std::vector<std::string> allowed = {"name", "threads", "task.file", "solve.kernels",
                                            "solve.memory_limit_gib"};
  for (const std::string& overlay : overlays) {
    const std::string key = io::overlay_key(overlay);
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    throw Error(ErrorKind::kBadStudy,
                fmt::format("--set {}: predict takes the points that the result has; allowed: {}",
                            key, join(allowed, ", ")));
  }
}

/// Whether the networks of a train result predict, not the theory. Refuses what is no result.
bool networks_predict(const Request& request) {
  const bool in_memory = request.new_inputs || request.new_text;
  if (request.more_inputs.size() != (in_memory ? 0 : 1)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("predict: takes a result and one file of new inputs; given: {} files",
                            request.more_inputs.size()));
  }
  if (!io::is_result_file(request.input)) {
    if (io::is_hdf5(request.input) || access(request.input.c_str(), R_OK) != 0) {
      static_cast<void>(io::read_study(request.input, {}));  // says what is wrong with the file
    }
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: is no result file; allowed: a result of solve, sample or train",
                            request.input));
  }
  return io::read_result_kind(request.input) == TrainResult::kVerb;
}

class PredictJob final : public JobFor<PredictResult> {
 public:
  using JobFor::JobFor;

 private:
  void load() override {
    if (request.new_text) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("predict: text: must be absent: {} is no result of train on text",
                              request.input));
    }
    input_kind_ = io::read_result_kind(request.input);
    check_overlays(request.study_overlays());
    // Not of origin kResultFile, so that no prediction is written over the result.
    study = io::read_study(request.input, request.study_overlays()).study;
  }
  std::string read_data(Observer& observer) override {
    ResultProvenance stored;
    if (input_kind_ == SampleResult::kVerb) {
      sampled_ = io::read_sample_result(request.input);
      stored = io::read_result_provenance(request.input);
    } else {
      solved_ = io::read_solve_result(request.input, &stored);
    }
    if (stored.partial) {
      observer.warning(
          fmt::format("{}: is partial; only its finished points predict", request.input));
    }
    if (!stored.shard.empty()) {
      observer.warning(fmt::format("{}: is part {} of its study; only its own points predict",
                                   request.input, stored.shard));
    }
    keep_named_point(observer);
    const tasks::Dataset data = data_of_result(stored);
    const tasks::Dataset inputs =
        request.new_inputs ? *request.new_inputs : io::read_new_inputs(request.more_inputs.front());
    inputs_name_ = inputs.name;
    names_ = headway::input_names(inputs);
    dataset_ = headway::with_inputs(study, data, inputs);
    headway::require_memory(headway::plan_theory(study, dataset_, TheoryVerb::kSolves, 1), study,
                            physical_memory());
    return headway::combined_data_hash({data.content_hash, inputs.content_hash});
  }
  [[nodiscard]] std::string plan() const override {
    const std::size_t points = sampled_ ? sampled_->points.size() : solved_.points.size();
    if (request.json) {
      nlohmann::ordered_json out;
      out["dry_run"] = true;
      out["verb"] = PredictResult::kVerb;
      out["points"] = points;
      for (std::size_t i = 0; i < names_.size(); ++i) {
        out["sets"][names_[i]] = dataset_.sets[i].split.size();
      }
      return json_text(out);
    }
    std::string text = fmt::format("{}: {}\n", study.name, count_text(points, "point"));
    for (std::size_t i = 0; i < names_.size(); ++i) {
      text +=
          fmt::format("{}: {}\n", names_[i], count_text(dataset_.sets[i].split.size(), "example"));
    }
    return text + fmt::format("output {}\n", request.output.empty() ? "none" : request.output);
  }
  PredictResult compute(Observer& observer) override {
    PredictResult result = sampled_ ? headway::predict(study, dataset_, names_, *sampled_, observer)
                                    : headway::predict(study, dataset_, names_, solved_, observer);
    result.predicted_from = request.input;
    result.inputs = inputs_name_;
    result.source_faults =
        (sampled_ ? sample_outcome(*sampled_) : solve_outcome(solved_, 0.0)).faults;
    return result;
  }
  [[nodiscard]] Outcome outcome_of(const PredictResult& result) const override {
    Outcome outcome{count_text(result.points.size(), "point"), result.interrupted, result.seconds,
                    result.threads, result.source_faults};
    for (const PredictedPoint& point : result.points) {
      const bool finite = std::all_of(point.sets.begin(), point.sets.end(), [](const auto& set) {
        return set.mean.allFinite() && set.deviation.allFinite();
      });
      if (finite) continue;
      outcome.faults.push_back(fmt::format("widths {}, temperature {:g}: not finite",
                                           widths_text(point.widths), point.temperature));
    }
    return outcome;
  }

  /// With --point, the result has this point alone from here on.
  void keep_named_point(Observer& observer) {
    if (request.point.empty()) return;
    const SolveResult& solved = sampled_ ? sampled_->solve : solved_;
    const PointName name = point_named(request, solved, sampled_ ? &*sampled_ : nullptr);
    warn_of_edge(request, solved, name, observer);
    const auto is_other = [&name](const auto& point) {
      return point.widths != name.widths || point.temperature != name.temperature;
    };
    std::erase_if(solved_.points, is_other);
    if (sampled_) std::erase_if(sampled_->points, is_other);
  }
  /// The data that the result was computed from. Error{kBadData} where they have changed.
  [[nodiscard]] tasks::Dataset data_of_result(const ResultProvenance& stored) const {
    tasks::Dataset dataset = theory_data(request, study);
    if (request.dataset || stored.data_hash == dataset.content_hash) return dataset;
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: {} is not the data that this result was computed from; their "
                            "hashes differ",
                            request.input, dataset.name));
  }

  std::string input_kind_;  ///< of the result that predicts
  SolveResult solved_;
  std::optional<SampleResult> sampled_;
  std::string inputs_name_;
  std::vector<std::string> names_;  ///< of the sets of new inputs
  tasks::Dataset dataset_;          ///< of headway::with_inputs()
};

}  // namespace

std::shared_ptr<Job> predict_job(Request request) {
  if (!networks_predict(request)) return std::make_shared<PredictJob>(std::move(request));
  refuse_point_of_networks(request);
  return predict_networks_job(std::move(request));
}

}  // namespace headway::jobs
