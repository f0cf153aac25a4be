#include <fmt/format.h>

#include <utility>

#include "headway/evaluate_results.hpp"
#include "headway/latents_results.hpp"
#include "results/by_label.hpp"

namespace headway {
namespace {

/// Adds the value of one run to the numbers of its group.
void add(const std::string& split, const std::string& metric, double value,
         std::vector<MetricSpread>& metrics, std::vector<std::vector<double>>& values) {
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].split == split && metrics[i].metric == metric) {
      values[i].push_back(value);
      return;
    }
  }
  metrics.push_back({split, metric, {}});
  values.push_back({value});
}

}  // namespace

std::vector<EvaluatedGroup> group_evaluations(const EvaluateResult& result) {
  std::vector<EvaluatedGroup> out;
  for (const std::vector<const EvaluatedRun*>& runs : by_label(result.runs)) {
    EvaluatedGroup& group = out.emplace_back();
    group.label = runs.front()->label;
    std::vector<std::vector<double>> values;  // of each metric, over the runs
    for (const EvaluatedRun* run : runs) {
      group.seeds.push_back(run->seed);
      for (const auto& [split, evaluation] : run->evaluations) {
        add(split, "loss", evaluation.loss, group.metrics, values);
        for (const training::Metric& metric : evaluation.metrics) {
          add(split, metric.name, metric.value, group.metrics, values);
        }
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) group.metrics[i].value = spread_of(values[i]);
  }
  return out;
}

std::vector<std::string> latent_faults(const LatentRun& run) {
  std::vector<std::string> out;
  const auto look = [&out](const LatentLayer& layer) {
    for (const DecoderReport& decoder : layer.decoders) {
      if (decoder.decoding.converged) continue;
      out.push_back(fmt::format(
          "a fit of the decoder of \"{}\" in {} did not converge", decoder.name,
          layer.layer > 0 ? fmt::format("layer {}", layer.layer) : "all layers together"));
    }
  };
  for (const LatentLayer& layer : run.layers) look(layer);
  look(run.all_layers);
  return out;
}

std::vector<LatentGroup> group_latents(const LatentsResult& result) {
  std::vector<LatentGroup> out;
  for (const std::vector<const LatentRun*>& runs : by_label(result.runs)) {
    const LatentRun& shape = *runs.front();
    for (std::size_t l = 0; l <= shape.layers.size(); ++l) {
      const auto layer_of = [l](const LatentRun& run) -> const LatentLayer& {
        return l < run.layers.size() ? run.layers[l] : run.all_layers;
      };
      for (std::size_t d = 0; d < layer_of(shape).decoders.size(); ++d) {
        LatentGroup& group = out.emplace_back();
        group.label = shape.label;
        group.layer = layer_of(shape).layer;
        group.decoder = layer_of(shape).decoders[d].name;
        group.metric = layer_of(shape).decoders[d].metric;
        const auto spread = [&](const auto& value) {
          std::vector<double> values;
          for (const LatentRun* run : runs) values.push_back(value(layer_of(*run).decoders[d]));
          return spread_of(std::move(values));
        };
        for (const LatentRun* run : runs) group.seeds.push_back(run->seed);
        group.train = spread([](const DecoderReport& r) { return r.decoding.train; });
        group.held_out = spread([](const DecoderReport& r) { return r.decoding.held_out; });
        group.shuffled = spread([](const DecoderReport& r) { return r.decoding.shuffled; });
        group.untrained = spread([](const DecoderReport& r) { return r.untrained; });
        group.chance = spread([](const DecoderReport& r) { return r.decoding.chance; }).mean;
        group.standard_error =
            spread([](const DecoderReport& r) { return r.decoding.standard_error; }).mean;
      }
    }
  }
  return out;
}

}  // namespace headway
