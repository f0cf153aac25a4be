#include "headway/extract.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "course.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/model/path_index.hpp"
#include "json_text.hpp"
#include "table.hpp"
#include "trained_data.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

using Json = nlohmann::ordered_json;

struct ExtractJob : Job {
  TrainedNetwork network;
  training::OneShotExamples images;  ///< of a linear-value network
  TrainTask task;                    ///< of a transformer

  [[nodiscard]] bool linear_value() const {
    return study.train.model.network == training::NetworkKind::kLinearValue;
  }
};

std::string heads_line(const TrainedNetwork& network, const ExtractResult& result) {
  return wrapped(fmt::format("{}: {} weights after {} steps, heads [{}], {}, {}",
                             network.study_name, word_of(network.study.extract.weights),
                             network.step, numbers_text(result.dataset.heads),
                             count_text(model::path_count<double>(result.dataset.heads), "path"),
                             count_text(result.dataset.features, "feature")));
}

/// How well the parts add up; "" for a network that is not taken apart.
std::string gap_line(const ExtractResult& result) {
  if (result.dataset.form != AttentionForm::kPathFeatures) return "";
  return fmt::format("the parts add up to the embedding with a relative error of {:.1g}\n",
                     result.largest_gap);
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string extract_text(const TrainedNetwork& network, const ExtractResult& result) {
  Table table({"split<", "examples", "accuracy", "squared error"});
  for (const ExtractedSplit& split : result.splits) {
    table.add({split.name, std::to_string(split.examples), cell(split.accuracy, "{:.4f}"),
               small_cell(split.mean_squared_error)});
  }
  if (result.order_parameter.size() == 0) {
    return fmt::format("{}\n\nthe trained network itself\n{}{}", heads_line(network, result),
                       table.text(), gap_line(result));
  }
  const double scale =
      result.order_parameter.trace() / static_cast<double>(result.order_parameter.rows());
  const std::string line = fmt::format(
      "U_1 of its weights, mean of the diagonal {:.4g}, diagonal over that mean:\n", scale);
  return fmt::format("{}\n\nthe trained network itself\n{}{}{}", heads_line(network, result),
                     table.text(), wrapped(line),
                     values_line("", 0, diagonal_text(result.order_parameter / scale, 16)));
}

std::string extract_json(const TrainedNetwork& network, const ExtractResult& result,
                         const std::string& output) {
  Json out;
  out["study"] = network.study_name;
  out["run"] = network.study.extract.run;
  out["label"] = network.label;
  out["weights"] = word_of(network.study.extract.weights);
  out["step"] = network.step;
  out["weights_sha256"] = network.weights_sha256;
  out["heads"] = result.dataset.heads;
  out["features"] = result.dataset.features;
  out["splits"] = Json::array();
  for (const ExtractedSplit& split : result.splits) {
    out["splits"].push_back({{"name", split.name},
                             {"examples", split.examples},
                             {"accuracy", number_or_null(split.accuracy)},
                             {"mean_squared_error", number_or_null(split.mean_squared_error)}});
  }
  if (result.dataset.form == AttentionForm::kPathFeatures) {
    out["largest_gap"] = result.largest_gap;
  }
  out["names"] = Json::array();
  for (const LayerHeads& layer : result.dataset.layers) out["names"].push_back(layer.names);
  if (result.order_parameter.size() > 0) out["U_1"] = Json::array();
  for (Index i = 0; i < result.order_parameter.rows(); ++i) {
    const VectorXd row = result.order_parameter.row(i);
    out["U_1"].push_back(std::vector<double>(row.begin(), row.end()));
  }
  out["output"] = output.empty() ? Json(nullptr) : Json(output);
  return json_text(out);
}

/// Sizes of what a transformer is taken apart into; none for a linear-value network, whose heads
/// are written as they are.
std::optional<ExtractSizes> planned_sizes(const ExtractJob& job) {
  if (job.linear_value()) return std::nullopt;
  return headway::extract_sizes(job.study, job.network.parameters, *job.task.task);
}

std::string sizes_line(const ExtractSizes& sizes) {
  return fmt::format("heads [{}], {}, {}, {:.3g} GiB of memory\n", numbers_text(sizes.heads),
                     count_text(model::path_count<double>(sizes.heads), "path"),
                     count_text(sizes.features, "feature"), sizes.bytes / kGibibyte);
}

std::string plan_extract(const Options& options, const ExtractJob& job) {
  const ExtractOptions& wanted = job.study.extract;
  const std::optional<ExtractSizes> sizes = planned_sizes(job);
  if (options.json) {
    Json out;
    out["dry_run"] = true;
    out["verb"] = "extract";
    out["study"] = job.network.study_name;
    out["run"] = wanted.run;
    out["label"] = job.network.label;
    out["weights"] = word_of(wanted.weights);
    out["step"] = job.network.step;
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
  return wrapped(fmt::format(
      "{}: run {} ({}), {} weights after {} steps\n{} train, {} test, {} validation "
      "examples, {} of each further set\n{}output {}\n",
      job.network.study_name, wanted.run, job.network.label, word_of(wanted.weights),
      job.network.step, wanted.train_examples, wanted.test_examples, wanted.validation_examples,
      wanted.out_of_distribution_examples, sizes ? sizes_line(*sizes) : "",
      options.output.empty() ? "none" : options.output));
}

ExtractJob load_extract_job(const Options& options) {
  ExtractJob job;
  job.network = io::read_trained_network(options.input, options.study_overlays());
  job.study = job.network.study;
  return job;  // not of origin kResultFile, so that no data set is written over the network
}

std::string read_extract_data(const Options& options, ExtractJob& job, Observer& observer) {
  if (job.network.without_gpu) {
    observer.warning(options.input + ": " + headway::kWithoutGpu);
  }
  if (job.network.outcome != word_of(training::TrainOutcome::kFinished)) {
    observer.warning(
        fmt::format("run {} ({}, seed {}) was not trained to its end: {}; what is extracted are "
                    "its {} weights after {} steps",
                    job.network.run, job.network.label, job.network.study.seed, job.network.outcome,
                    word_of(job.study.extract.weights), job.network.step));
  }
  require_training_data(options, options.study_overlays(), job.network.data_hash, observer);
  const training::TransformerOptions& model = job.study.train.model;
  if (!job.linear_value() && !is_generated(model.attention_options().value_network)) {
    warn_of_unused(
        options, {"extract.parts"},
        fmt::format("only HYLA has pairs of heads, and train.attention = \"{}\"", model.attention),
        observer);
  }
  if (job.linear_value()) {
    job.images = headway::one_shot_examples(job.study, task_files(options));
  } else {
    job.task = headway::make_task_maker(task_files(options))(job.study);
  }
  return job.network.data_hash;
}

/// headway::extract(), whose errors then name the file.
ExtractResult compute_extract(const Options& options, ExtractJob& job, Observer& observer) {
  const TrainedNetwork& network = job.network;
  try {
    ExtractResult result =
        job.linear_value()
            ? headway::extract(network.study, network.parameters, job.images, observer)
            : headway::extract(network.study, network.parameters, *job.task.task, observer);
    result.dataset.note =
        fmt::format("{} of a trained {} network ({}, {} weights after {} steps); {}",
                    job.linear_value() ? "heads" : "parts",
                    job.linear_value() ? "linear-value" : network.variant, network.study_name,
                    word_of(network.study.extract.weights), network.step, result.dataset.note);
    return result;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    throw Error(error.kind(), fmt::format("{}: {}", options.input, error.what()));
  }
}

void write_extract(const Options& options, const ExtractJob& job, const ExtractResult& result) {
  const TrainedNetwork& network = job.network;
  io::write_extracted(options.output, result,
                      {{"study", network.study_name},
                       {"study_toml", job.provenance.study_toml},
                       {"weights", std::string(word_of(network.study.extract.weights))},
                       {"weights_sha256", network.weights_sha256},
                       {"trained_label", network.label},
                       {"trained_data_hash", network.data_hash},
                       {"command", job.provenance.command},
                       {"headway_version", job.provenance.headway_version},
                       {"git_commit", job.provenance.git_commit},
                       {"written", headway::utc_now()}},
                      options.force);
}

std::string print_extract(const Options& options, const ExtractJob& job,
                          const ExtractResult& result) {
  return options.json ? extract_json(job.network, result, options.output)
                      : extract_text(job.network, result);
}

std::string closing(const Options& options, const Outcome& /*outcome*/) {
  if (options.output.empty()) return "";
  return fmt::format("data set in {0}; to solve the theory of it: headway solve {0}",
                     options.output);
}

std::vector<CommandOption> extract_options() {
  CommandOption form{"--form", "FORM", "of a transformer: contributions (default) or attention",
                     &Options::form, Offers::kWords};
  form.words = {"contributions", "attention"};
  return {{"--layers", "L,...",
           "of a transformer: layers whose parts are told apart, from 1; the last one by default",
           &Options::layers},
          form};
}

}  // namespace

Verb extract_verb() {
  return make_verb<ExtractJob, ExtractResult>(
      {.name = "extract",
       .summary = "turn a trained network into a data set of the theory",
       .sections = {"extract"},
       .tasks = headway::Side::kTraining,
       .own = extract_options(),
       .about =
           "Writes a data set that solve, align, prune and sample take: the heads of the network "
           "on "
           "its examples. Of a transformer it writes what the parts of its layers contribute, or "
           "their attention alone.",
       .tables = {{"Columns",
                   {{"split", "which examples: train, test, validation and further sets"},
                    {"examples", "how many of them are written"},
                    {"accuracy, squared error", "of the trained network itself on these examples"},
                    {"U_1 of its weights",
                     "below the table, for networks of attention paths: the order parameter of the "
                     "trained weights"}}}},
       .examples = {{"headway extract trained.h5 -o heads.h5", "then headway prune heads.h5"},
                    {"headway extract hyla.h5 --layers 1,2 --set extract.run=2 -o parts.h5",
                     "two layers of the second run of a sweep"}},
       .input = kTrainedInput,
       .seeded = false},
      {.load = &load_extract_job,
       .read_data = &read_extract_data,
       .plan = &plan_extract,
       .compute = &compute_extract,
       .outcome = [](const ExtractResult&) { return Outcome{}; },
       .write = &write_extract,
       .print = &print_extract,
       .closing = &closing});
}

}  // namespace headway::cli
