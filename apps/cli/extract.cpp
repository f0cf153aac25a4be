#include <fmt/format.h>

#include <cmath>

#include "headway/core/text.hpp"
#include "headway/jobs/extraction.hpp"
#include "headway/model/path_index.hpp"
#include "headway/results/table.hpp"
#include "jobs/json_text.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

using Json = nlohmann::ordered_json;

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

std::string extract_text(const jobs::Extraction& result) {
  const TrainedNetwork& network = *result.network;
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

std::string extract_json(const jobs::Extraction& result, const std::string& output) {
  const TrainedNetwork& network = *result.network;
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
  return jobs::json_text(out);
}

std::string print_extract(const Options& options, const jobs::Job& job) {
  const auto& result = *job.result<jobs::Extraction>();
  return options.json ? extract_json(result, options.output) : extract_text(result);
}

std::string closing(const Options& options, const jobs::Outcome& /*outcome*/) {
  if (options.output.empty()) return "";
  const bool values = options.form == word_of(ExtractForm::kValueNetwork);
  return fmt::format("data set in {0}; to solve the theory of it: headway solve {0}{1}",
                     options.output, values ? " --set model.value_network.form=hyla" : "");
}

std::vector<CommandOption> extract_options() {
  CommandOption form{"--form", "FORM",
                     "of a transformer: contributions (default), attention, or value_network",
                     &Options::form, Offers::kWords};
  form.words = {"contributions", "attention", "value_network"};
  return {{"--layers", "L,...",
           "of a transformer: layers whose parts are told apart, from 1; the last one by default",
           &Options::layers},
          form};
}

}  // namespace

Verb extract_verb() {
  return {
      .name = "extract",
      .summary = "turn a trained network into a data set of the theory",
      .sections = {"extract"},
      .tasks = headway::Side::kTraining,
      .own = extract_options(),
      .about =
          "Writes a data set that solve, align, prune and sample take: the heads of the network "
          "on its examples. Of a transformer it writes what the parts of its layers contribute, "
          "their attention alone, or the last layer of HYLA for model.value_network.",
      .tables = {{"Columns",
                  {{"split",
                    "which examples. test: of the training's held_out where there is one, and its "
                    "own test is then in_distribution"},
                   {"examples", "how many of them are written"},
                   {"accuracy, squared error", "of the trained network itself on these examples"},
                   {"U_1 of its weights",
                    "below the table, for networks of attention paths: the order parameter of the "
                    "trained weights"}}}},
      .examples = {{"headway extract trained.h5 -o heads.h5", "then headway prune heads.h5"},
                   {"headway extract hyla.h5 --layers 1,2 --set extract.run=2 -o parts.h5",
                    "two layers of the second run of a sweep"}},
      .input = kTrainedInput,
      .seeded = false,
      .print = &print_extract,
      .closing = &closing};
}

}  // namespace headway::cli
