#include "trained_network_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/text.hpp"
#include "headway/results/table.hpp"

namespace headway::cli {

namespace {

std::string layer_text(Index layer) { return layer == 0 ? "all" : std::to_string(layer); }

/// Mean cosines of codes with the same label and with two that differ, over the runs of a label.
std::string similarity_text(const LatentsResult& result) {
  Table table({"variant<", "layer", "same label", "different labels"});
  std::vector<std::string> labels;
  for (const LatentRun& run : result.runs) {
    if (std::find(labels.begin(), labels.end(), run.label) != labels.end()) continue;
    labels.push_back(run.label);
    for (std::size_t l = 0; l <= run.layers.size(); ++l) {
      const auto layer_of = [l](const LatentRun& one) -> const LatentLayer& {
        return l < one.layers.size() ? one.layers[l] : one.all_layers;
      };
      std::vector<double> same, different;
      for (const LatentRun& other : result.runs) {
        if (other.label != run.label) continue;
        same.push_back(layer_of(other).similarity.codes.same);
        different.push_back(layer_of(other).similarity.codes.different);
      }
      table.add({run.label, layer_text(layer_of(run).layer), spread_text(headway::spread_of(same)),
                 spread_text(headway::spread_of(different))});
    }
  }
  return table.text();
}

}  // namespace

std::string spread_text(const Spread& spread) {
  return measured_text(spread.mean, spread.standard_error);
}

std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
  std::string out;
  for (const std::uint64_t seed : seeds) out += (out.empty() ? "" : ",") + std::to_string(seed);
  return out;
}

std::string latents_table(const Study& study, const LatentsResult& result) {
  std::string out = wrapped(fmt::format(
      "{}: {}, {} of {}, {} weights\n\n", study.name, word_of(study.task.kind()),
      result.runs.size(), count_text(result.planned, "network"), word_of(study.latents.weights)));
  if (result.runs.empty()) return out;
  Table table({"variant<", "seeds<", "layer", "decoder<", "metric<", "train", "held out",
               "+- tasks", "chance", "shuffled", "untrained"});
  for (const LatentGroup& group : headway::group_latents(result)) {
    table.add({group.label, seeds_text(group.seeds), layer_text(group.layer), group.decoder,
               std::string(word_of(group.metric)), cell(group.train.mean, "{:.4f}"),
               spread_text(group.held_out), cell(group.standard_error, "{:.2g}"),
               cell(group.chance, "{:.4f}"), spread_text(group.shuffled),
               spread_text(group.untrained)});
  }
  return out + table.text() +
         wrapped("\nmean cosine between a code of a training task and one of a held-out task\n") +
         similarity_text(result);
}

std::string evaluate_table(const Study& study, const EvaluateResult& result) {
  std::string out = wrapped(fmt::format("{}: {} of {}, {} weights, on\n{}\n", study.name,
                                        result.runs.size(), count_text(result.planned, "network"),
                                        word_of(study.evaluate.weights), result.task));
  const std::vector<EvaluatedGroup> groups = headway::group_evaluations(result);
  if (groups.empty()) return out;
  Table table({"variant<", "seeds<", "split<", "metric<", "value"});
  for (const EvaluatedGroup& group : groups) {
    const bool of_text = std::ranges::any_of(
        group.metrics, [](const MetricSpread& one) { return one.metric == "bits_per_byte"; });
    for (const MetricSpread& metric : group.metrics) {
      const bool in_nats = of_text && metric.metric == "loss";
      table.add({group.label, seeds_text(group.seeds), metric.split,
                 in_nats ? "loss (nats)" : metric.metric, spread_text(metric.value)});
    }
  }
  return out + table.text();
}

}  // namespace headway::cli
