#include "headway/extract.hpp"

#include <fmt/format.h>

#include <optional>

#include "headway/core/memory.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/jobs/extraction.hpp"
#include "headway/model/path_index.hpp"
#include "headway/results/table.hpp"
#include "jobs/job_for.hpp"
#include "jobs/json_text.hpp"
#include "jobs/request_keys.hpp"
#include "jobs/trained_data.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

std::string sizes_line(const ExtractSizes& sizes) {
  return fmt::format("heads [{}], {}, {}, {:.3g} GiB of memory\n", numbers_text(sizes.heads),
                     count_text(model::path_count<double>(sizes.heads), "path"),
                     count_text(sizes.features, "feature"), sizes.bytes / kGibibyte);
}

class ExtractJob final : public JobFor<Extraction> {
 public:
  using JobFor::JobFor;

 private:
  void load() override {
    // Not of origin kResultFile, so that no data set is written over the network.
    network_ = std::make_shared<const TrainedNetwork>(
        io::read_trained_network(request.input, request.study_overlays()));
    study = network_->study;
  }
  std::string read_data(Observer& observer) override {
    const TrainedNetwork& network = *network_;
    if (network.without_gpu) observer.warning(request.input + ": " + headway::kWithoutGpu);
    if (network.outcome != word_of(training::TrainOutcome::kFinished)) {
      observer.warning(
          fmt::format("run {} ({}, seed {}) was not trained to its end: {}; what is extracted are "
                      "its {} weights after {} steps",
                      network.run, network.label, network.study.seed, network.outcome,
                      word_of(study.extract.weights), network.step));
    }
    require_training_data(request, request.study_overlays(), network.data_hash, observer);
    const training::TransformerOptions& model = study.train.model;
    if (!linear_value() && !is_generated(model.attention_options().value_network)) {
      warn_of_unused(request, {"extract.parts"},
                     fmt::format("only HYLA has pairs of heads, and train.attention = \"{}\"",
                                 model.attention),
                     observer);
    }
    if (linear_value()) {
      images_ = headway::one_shot_examples(study, task_files(request));
    } else {
      task_ = headway::make_task_maker(task_files(request))(study);
    }
    return network.data_hash;
  }
  [[nodiscard]] std::string plan() const override {
    const std::optional<ExtractSizes> sizes = planned_sizes();
    return request.json ? plan_json(sizes) : plan_text(sizes);
  }
  /// headway::extract(), whose errors then name the file.
  Extraction compute(Observer& observer) override {
    const TrainedNetwork& network = *network_;
    try {
      Extraction result{
          linear_value()
              ? headway::extract(network.study, network.parameters, images_, observer)
              : headway::extract(network.study, network.parameters, *task_.task, observer),
          network_};
      result.dataset.note =
          fmt::format("{} of a trained {} network ({}, {} weights after {} steps); {}",
                      linear_value() ? "heads" : "parts",
                      linear_value() ? "linear-value" : network.variant, network.study_name,
                      word_of(network.study.extract.weights), network.step, result.dataset.note);
      return result;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadData) throw;
      throw Error(error.kind(), fmt::format("{}: {}", request.input, error.what()));
    }
  }
  [[nodiscard]] Outcome outcome_of(const Extraction& /*result*/) const override { return {}; }
  void write_result() const override {
    const TrainedNetwork& network = *network_;
    io::write_extracted(request.output, result_,
                        {{"study", network.study_name},
                         {"study_toml", provenance.study_toml},
                         {"weights", std::string(word_of(network.study.extract.weights))},
                         {"weights_sha256", network.weights_sha256},
                         {"trained_label", network.label},
                         {"trained_data_hash", network.data_hash},
                         {"command", provenance.command},
                         {"headway_version", provenance.headway_version},
                         {"git_commit", provenance.git_commit},
                         {"written", headway::utc_now()}},
                        request.force);
  }

  [[nodiscard]] bool linear_value() const {
    return study.train.model.network == training::NetworkKind::kLinearValue;
  }
  /// Sizes of what a transformer is taken apart into; none for a linear-value network, whose heads
  /// are written as they are.
  [[nodiscard]] std::optional<ExtractSizes> planned_sizes() const {
    if (linear_value()) return std::nullopt;
    return headway::extract_sizes(study, network_->parameters, *task_.task);
  }
  [[nodiscard]] std::string plan_json(const std::optional<ExtractSizes>& sizes) const {
    const ExtractOptions& wanted = study.extract;
    nlohmann::ordered_json out;
    out["dry_run"] = true;
    out["verb"] = "extract";
    out["study"] = network_->study_name;
    out["run"] = wanted.run;
    out["label"] = network_->label;
    out["weights"] = word_of(wanted.weights);
    out["step"] = network_->step;
    out["examples"] = {{"train", wanted.train_examples},
                       {"test", wanted.test_examples},
                       {"validation", wanted.validation_examples},
                       {"out_of_distribution", wanted.out_of_distribution_examples}};
    if (sizes) {
      out["heads"] = sizes->heads;
      out["paths"] = model::path_count<double>(sizes->heads);
      out["features"] = sizes->features;
      out["bytes"] = sizes->bytes;
    }
    return json_text(out);
  }
  [[nodiscard]] std::string plan_text(const std::optional<ExtractSizes>& sizes) const {
    const ExtractOptions& wanted = study.extract;
    return wrapped(fmt::format(
        "{}: run {} ({}), {} weights after {} steps\n{} train, {} test, {} validation "
        "examples, {} of each further set\n{}output {}\n",
        network_->study_name, wanted.run, network_->label, word_of(wanted.weights), network_->step,
        wanted.train_examples, wanted.test_examples, wanted.validation_examples,
        wanted.out_of_distribution_examples, sizes ? sizes_line(*sizes) : "",
        request.output.empty() ? "none" : request.output));
  }

  std::shared_ptr<const TrainedNetwork> network_;
  training::OneShotExamples images_;  ///< of a linear-value network
  TrainTask task_;                    ///< of a transformer
};

}  // namespace

std::shared_ptr<Job> extract_job(Request request) {
  return std::make_shared<ExtractJob>(std::move(request));
}

}  // namespace headway::jobs
