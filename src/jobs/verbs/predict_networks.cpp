#include "headway/predict_networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/sha256.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/training_tasks.hpp"
#include "jobs/job_for.hpp"
#include "jobs/json_text.hpp"
#include "jobs/outcomes.hpp"
#include "jobs/trained_data.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

/// `headway predict` of a train result: what the networks themselves say of new inputs.
class PredictNetworksJob final : public JobFor<NetworkPredictResult> {
 public:
  using JobFor::JobFor;

 private:
  void load() override {
    // Not of origin kResultFile, so that no prediction is written over the result.
    study = io::read_trained_study(
        request.input, request.study_overlays(),
        {"evaluate.weights", "threads", "name", "train.device", "train.eval_batch"});
  }
  /// A text, or a data set of inputs, whichever the networks read.
  std::string read_data(Observer& observer) override {
    networks_ = io::read_trained_networks(request.input, study, study.evaluate.weights, observer);
    return of_text() ? read_text() : read_inputs(observer);
  }
  [[nodiscard]] std::string plan() const override {
    if (request.json) {
      nlohmann::ordered_json out;
      out["dry_run"] = true;
      out["verb"] = "predict";
      out["networks"] = networks_.size();
      out["weights"] = word_of(study.evaluate.weights);
      if (of_text()) out["bytes"] = text_.size();
      for (const tasks::NamedSplit& set : headway::input_splits(inputs_)) {
        out["sets"][set.name] = set.split.size();
      }
      return json_text(out);
    }
    std::string text =
        fmt::format("{}: {}, {} weights\n", study.name, count_text(networks_.size(), "network"),
                    word_of(study.evaluate.weights));
    if (of_text()) text += fmt::format("{}: {} bytes\n", name_, text_.size());
    for (const tasks::NamedSplit& set : headway::input_splits(inputs_)) {
      text += fmt::format("{}: {}\n", set.name, count_text(set.split.size(), "example"));
    }
    return text + fmt::format("output {}\n", request.output.empty() ? "none" : request.output);
  }
  NetworkPredictResult compute(Observer& observer) override {
    NetworkPredictResult result = of_text()
                                      ? headway::predict_text(networks_, name_, text_, observer)
                                      : headway::predict_inputs(networks_, inputs_, observer);
    result.predicted_from = request.input;
    return result;
  }
  [[nodiscard]] Outcome outcome_of(const NetworkPredictResult& result) const override {
    Outcome outcome = networks_outcome(result);
    for (const PredictingRun& run : result.runs) {
      const bool finite = std::ranges::all_of(run.sets, [](const NetworkAnswers& set) {
        const auto all_finite = [](const std::vector<double>& values) {
          return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
        };
        return all_finite(set.mean.values) && all_finite(set.next);
      });
      if (!finite)
        outcome.faults.push_back(fmt::format("{}, seed {}: not finite", run.label, run.seed));
    }
    return outcome;
  }

  [[nodiscard]] bool of_text() const {
    return networks_.front().study.task.kind() == TaskKind::kText;
  }
  std::string read_text() {
    if (request.new_inputs) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("predict: inputs: must be absent, and text given: {} was trained on "
                              "text",
                              study.name));
    }
    name_ = request.new_text ? "text" : request.more_inputs.front();
    text_ = request.new_text ? *request.new_text : io::read_text(name_);
    headway::require_predictable_text(networks_, name_, text_);
    return sha256_hex(text_);
  }
  static tasks::Dataset read_file(const std::string& path) {
    return io::is_examples_file(path) ? io::read_new_examples(path) : io::read_new_inputs(path);
  }
  std::string read_inputs(Observer& observer) {
    const TaskMaker make_task = headway::make_task_maker(task_files(request));
    for (TrainedNetwork& network : networks_) {
      if (network.study.task.kind() != TaskKind::kArrays || network.format) continue;
      network.format = make_task(network.study).task->format();
    }
    if (request.new_text) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("predict: text: must be absent, and inputs given: {} was trained on "
                              "numbers",
                              study.name));
    }
    inputs_ = request.new_inputs ? *request.new_inputs : read_file(request.more_inputs.front());
    name_ = inputs_.name;
    headway::require_readable_inputs(networks_, inputs_);
    const bool heads = std::ranges::any_of(inputs_.layers, [](const LayerHeads& layer) {
      return !layer.weights.empty() || !layer.query.empty();
    });
    if (heads) {
      observer.note(name_ + ": its attention heads are not used; trained networks have their own");
    }
    return inputs_.content_hash;
  }

  std::vector<TrainedNetwork> networks_;
  tasks::Dataset inputs_;    ///< of networks that read numbers
  std::string name_, text_;  ///< of networks of text
};

}  // namespace

std::shared_ptr<Job> predict_networks_job(Request request) {
  return std::make_shared<PredictNetworksJob>(std::move(request));
}

}  // namespace headway::jobs
