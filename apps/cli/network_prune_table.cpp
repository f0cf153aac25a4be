#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "carried_network_table.hpp"
#include "headway/network_prune_results.hpp"
#include "headway/results/table.hpp"
#include "result_tables.hpp"

namespace headway::cli {

namespace {

std::string rank_text(const RankCorrelation& rank) {
  if (std::isnan(rank.spearman)) return "-";
  return fmt::format("{} [{}, {}]", cell(rank.spearman, "{:+.2f}"),
                     cell(rank.bootstrap.lower, "{:+.2f}"), cell(rank.bootstrap.upper, "{:+.2f}"));
}

std::string curve_text(const std::string& name, std::size_t width,
                       const analysis::QualityCurve& curve) {
  if (curve.quality.empty()) return "";
  std::vector<double> values;
  for (const analysis::Quality& quality : curve.quality) values.push_back(quality.accuracy.mean);
  return values_line(name, width, decimals_text(values));
}

std::string run_text(const RunPruning& run) {
  std::string out = fmt::format("run {}: {}, seed {}:", run.run, run.label, run.seed);
  for (const NetworkSet& set : run.network.sets) {
    out += fmt::format("{} {} {} {}", &set == &run.network.sets.front() ? "" : ",", set.name,
                       run.metric, cell(set.quality.accuracy.mean, "{:.4f}"));
  }
  out = wrapped(out);
  Table heads(
      {"layer", "head", run.metric + " drop", "mean in its place", "loss rise", "sensitivity"});
  for (const HeadCost& head : run.heads) {
    heads.add({std::to_string(head.layer), std::to_string(head.head),
               estimate_text(head.drop, "{:+.4f}"), estimate_text(head.drop_mean, "{:+.4f}"),
               estimate_text(head.rise, "{:+.4f}"), cell(head.gradient_sensitivity, "{:.4g}")});
  }
  out += fmt::format("\neach head removed alone, on {}\n{}", run.network.measured_on, heads.text());
  Table ranks({"score<", "with the drop<", "with the rise of the loss<"});
  for (const NetworkScore& score : run.network.baselines) {
    ranks.add({score.name, rank_text(score.accuracy_drop), rank_text(score.error_rise)});
  }
  out += "rank correlations [95 % interval over resampled examples]\n" + ranks.text();
  std::string curves;
  std::size_t width = 32;
  for (const NetworkScore& score : run.network.baselines) {
    width = std::max(width, score.name.size() + 5);
  }
  for (const NetworkScore& score : run.network.baselines) {
    curves += curve_text("by " + score.name, width, score.rising);
  }
  curves += curve_text("greedy on " + run.network.greedy_on, width, run.network.greedy);
  if (!run.network.random_mean.empty()) {
    curves += values_line("random mean", width, decimals_text(run.network.random_mean));
    curves += values_line("random sd", width, decimals_text(run.network.random_sd));
  }
  if (!curves.empty()) {
    out +=
        wrapped(fmt::format("{} after removing 0, 1, 2, ... heads ({} in their place); every layer "
                            "keeps one\n",
                            run.metric, word_of(run.removed_as))) +
        curves;
  }
  return out + "\n";
}

std::string agreement_text(const Spread& spread) {
  if (spread.count == 0) return "-";
  const std::string text = measured_text(spread.mean, spread.standard_error, "{:+.2f}");
  return spread.count == 1 ? text : fmt::format("{} ({} seeds)", text, spread.count);
}

}  // namespace

std::string network_prune_table(const Study& /*study*/, const NetworkPruneResult& result) {
  std::string out;
  for (const RunPruning& run : result.runs) out += run_text(run);
  for (const PruneGroup& group : result.groups) {
    Table table({"score<", "rank correlation with the drop<", "with the rise of the loss<"});
    for (const ScoreAgreement& score : group.scores) {
      table.add({score.name, agreement_text(score.drop), agreement_text(score.rise)});
    }
    out += fmt::format("{}, mean over seeds\n{}\n", group.label, table.text());
  }
  return out;
}

}  // namespace headway::cli
