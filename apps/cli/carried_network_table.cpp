#include "carried_network_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headway/results/table.hpp"

namespace headway::cli {
namespace {

using analysis::Estimate;
using analysis::QualityCurve;

constexpr std::size_t kNameWidth = 41;  // the longest name has 38

std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string curve_line(const std::string& name, const QualityCurve& curve) {
  if (curve.quality.empty()) return "";
  std::vector<double> accuracy;
  for (const analysis::Quality& quality : curve.quality) accuracy.push_back(quality.accuracy.mean);
  return values_line(name, kNameWidth, decimals_text(accuracy));
}

std::string numbers_line(const std::string& name, const std::vector<double>& values) {
  return values.empty() ? "" : values_line(name, kNameWidth, decimals_text(values));
}

std::string correlation_text(const RankCorrelation& correlation) {
  if (std::isnan(correlation.spearman)) return "undefined";
  return fmt::format("{} [{}, {}], p {}", cell(correlation.spearman, "{:+.2f}"),
                     cell(correlation.bootstrap.lower, "{:+.2f}"),
                     cell(correlation.bootstrap.upper, "{:+.2f}"),
                     cell(correlation.p_value, "{:.3g}"));
}

std::string correlations_text(const std::vector<NetworkScore>& scores) {
  Table table({"score<", "with the accuracy drop<", "with the rise of the squared error<"});
  for (const NetworkScore& score : scores) {
    table.add({words(score.name), correlation_text(score.accuracy_drop),
               correlation_text(score.error_rise)});
  }
  return wrapped(
             "rank correlation [95 % interval over resampled examples], p value by permutation\n") +
         table.text();
}

std::string sets_text(const NetworkPruning& network) {
  std::string out;
  for (const NetworkSet& set : network.sets) {
    out += fmt::format("{}{} {} ({} examples)", out.empty() ? "" : ", ", set.name,
                       estimate_text(set.quality.accuracy, "{:.4f}"), set.examples);
  }
  return out;
}

std::string heads_text(const NetworkPruning& network, const std::vector<HeadReport>& heads) {
  std::vector<std::string> header = {"layer", "head", "name<", "accuracy drop", "error rise"};
  for (const NetworkScore& score : network.baselines) header.push_back(words(score.name));
  Table table(header);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    std::vector<std::string> row = {std::to_string(heads[h].layer), std::to_string(heads[h].head),
                                    heads[h].name,
                                    estimate_text(network.accuracy_drop[h], "{:+.4f}"),
                                    estimate_text(network.error_rise[h], "{:+.4f}")};
    for (const NetworkScore& score : network.baselines) {
      row.push_back(small_cell(score.score[h]));
    }
    table.add(row);
  }
  return table.text();
}

}  // namespace

std::string estimate_text(const Estimate& estimate, const char* format) {
  if (std::isnan(estimate.mean)) return "-";
  return measured_text(estimate.mean, estimate.error, format);
}

std::string carried_network_table(const PruneResult& result) {
  if (!result.network || result.points.empty()) return "";
  const NetworkPruning& network = *result.network;
  std::string out = wrapped("trained network, accuracy on " + sets_text(network) + "\n");
  out += wrapped(fmt::format(
      "each head removed alone, on {}{}; sensitivity on {}\n", network.measured_on,
      network.rescaled ? ", the rest of its layer scaled up" : "", network.sensitivity_on));
  out += heads_text(network, result.points.front().heads);
  out += correlations_text(network.baselines);
  std::string curves;
  for (const NetworkScore& score : network.baselines) {
    curves += curve_line("by " + words(score.name), score.rising);
  }
  curves += curve_line("greedy on " + network.greedy_on, network.greedy);
  curves += numbers_line("random mean", network.random_mean);
  curves += numbers_line("random sd", network.random_sd);
  if (!curves.empty()) {
    out +=
        wrapped(fmt::format("accuracy on {} after removing 0, 1, 2, ... heads; every layer keeps "
                            "one\n",
                            network.measured_on)) +
        curves;
  }
  return out + "\n";
}

std::string network_orders_text(const PrunePoint& point) {
  if (point.network.empty()) return "";
  std::string out =
      "trained network in the order of the theory's scores\n" + correlations_text(point.network);
  std::string curves;
  for (const NetworkScore& score : point.network) {
    curves += curve_line("by " + words(score.name), score.rising);
  }
  curves += curve_line("by score, reversed", point.network.front().falling);
  if (curves.empty()) return out;
  return out + wrapped("trained network, accuracy after removing 0, 1, 2, ... heads\n") + curves;
}

}  // namespace headway::cli
