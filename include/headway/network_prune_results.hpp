#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/results/network_results.hpp"
#include "headway/study.hpp"
#include "headway/train_results.hpp"

namespace headway {

/// The theory's scores of the parts of a network that `headway extract` took apart, at one sweep
/// point.
struct TheoryScores {
  std::string label;               ///< for tables: "softmax-prune N = 100 T = 0.1"
  std::string weights_sha256;      ///< of the network
  std::vector<std::string> names;  ///< of the parts, "L2H3" and those that begin so for its heads
  std::vector<double> score;       ///< eq. 53 of the theory
  std::vector<double> error_rise;  ///< of the predictor's squared error without the part
  std::vector<double> without_theory;  ///< with 1 as every entry of U_1; empty where not known
};

/// What removing one head costs on the measured split: the drop of the metric and the rise of the
/// loss. Both are positive where the network needs the head.
struct HeadCost {
  std::string metric = "accuracy";  ///< or "r2": begins the names of its fields
  int layer = 1, head = 1;
  analysis::Estimate drop{}, rise{};            ///< its attention weights 0
  analysis::Estimate drop_mean{}, rise_mean{};  ///< its mean in its place; NaN: not defined
  double gradient_sensitivity = 0.0;            ///< eq. 21 of training
};
template <class Visitor>
void fields(Visitor& visit, const HeadCost& r) {
  visit("layer", r.layer, "layer of the head, counted from 1");
  visit("head", r.head, "number of the head in its layer, counted from 1");
  fields(visit, r.drop, r.metric + "_drop",
         "drop of the metric without the head; positive: the head is needed");
  fields(visit, r.rise, "loss_rise",
         "rise of the loss without the head; positive: the head is needed");
  fields(visit, r.drop_mean, r.metric + "_drop_mean",
         "drop of the metric with the head's mean in its place");
  fields(visit, r.rise_mean, "loss_rise_mean",
         "rise of the loss with the head's mean in its place");
  visit("gradient_sensitivity", r.gradient_sensitivity,
        "mean size of dL / dm_h over training examples");
  const double change = 0.0 - r.drop.mean;
  visit(r.metric + "_change", change, "older name: metric without the head minus that with it",
        {.place = FieldPlace::kJson});
}

/// The same on one split, of all heads.
struct SplitCosts {
  std::string split, metric = "accuracy";
  std::vector<analysis::Estimate> drop, rise;
};
template <class Visitor>
void fields(Visitor& visit, const SplitCosts& r) {
  visit("split", r.split, "name of the split", {.layout = FieldLayout::kKey});
  std::vector<double> drop, drop_error, rise, rise_error;
  for (std::size_t h = 0; h < r.rise.size(); ++h) {
    drop.push_back(r.drop[h].mean);
    drop_error.push_back(r.drop[h].error);
    rise.push_back(r.rise[h].mean);
    rise_error.push_back(r.rise[h].error);
  }
  visit(r.metric + "_drop", drop, "drop of the metric without each head");
  visit(r.metric + "_drop_error", drop_error, "standard errors over the examples");
  visit("loss_rise", rise, "rise of the loss without each head");
  visit("loss_rise_error", rise_error, "standard errors over the examples");
}

/// Head removal in one run of a train result.
struct RunPruning : NetworkRun {
  std::string metric, weights_sha256;
  RemovedAs removed_as = RemovedAs::kZero;
  std::vector<HeadCost> heads;
  std::vector<SplitCosts> splits;
  /// Scores "weight_norm" and "sensitivity", then those of the theory; curves and drops.
  NetworkPruning network;
};
template <class Visitor>
void fields(Visitor& visit, const RunPruning& r) {
  constexpr FieldPlace kJson = FieldPlace::kJson;
  fields_of_network(visit, r);
  visit("metric", r.metric, "metric of the drops: r2, r2_pooled or accuracy");
  visit("removed_as", r.removed_as,
        "what replaces removed heads in curves and drops: zero or mean");
  visit("weights_sha256", r.weights_sha256, "SHA-256 (hex) of the weights");
  visit("heads", r.heads, "one entry a head, layer 1 first", {.layout = FieldLayout::kColumns});
  visit("splits", r.splits, "drops and rises by split", {.layout = FieldLayout::kByName});
  for (const NetworkScore& score : r.network.baselines) {
    std::vector<double> curve;
    for (const analysis::Quality& q : score.rising.quality) curve.push_back(q.accuracy.mean);
    visit("cumulative/" + score.name, curve,
          "metric after removing 0, 1, 2, ... heads, lowest score first", {.place = kJson});
  }
  visit("cumulative/random/mean", r.network.random_mean, "mean metric over random orders",
        {.place = kJson});
  visit("cumulative/random/sd", r.network.random_sd,
        "standard deviation of the metric over random orders", {.place = kJson});
  std::vector<double> greedy;
  for (const analysis::Quality& q : r.network.greedy.quality) greedy.push_back(q.accuracy.mean);
  visit("cumulative/greedy", greedy, "metric in the greedy order", {.place = kJson});
  visit("network", r.network, "scores, drops and curves");
}

/// How a score agrees with true removal, over runs that differ in their seeds alone.
struct ScoreAgreement {
  std::string name, metric = "accuracy";
  Spread drop, rise;  ///< of Spearman's rho with the drop of the metric, the rise of the loss
};
template <class Visitor>
void fields(Visitor& visit, const ScoreAgreement& r) {
  visit("name", r.name, "name of the score", {.layout = FieldLayout::kKey});
  fields(visit, r.drop, r.metric + "_drop_spearman",
         "Spearman's rho between score and drop of the metric, mean over seeds");
  fields(visit, r.rise, "error_rise_spearman",
         "Spearman's rho between score and rise of the loss, mean over seeds");
}

/// The networks that differ by their seeds alone, and how well each score ranks their heads.
struct PruneGroup {
  std::string label;
  std::vector<std::uint64_t> seeds;
  std::vector<ScoreAgreement> scores;
};
template <class Visitor>
void fields(Visitor& visit, const PruneGroup& r) {
  visit("label", r.label, "the runs in short");
  visit("seeds", r.seeds, "seeds of the runs", {.place = FieldPlace::kJson});
  visit("scores", r.scores, "agreement by score", {.layout = FieldLayout::kByName});
}

/// `headway prune-network`.
struct NetworkPruneResult : NetworkRuns<RunPruning> {
  static constexpr const char* kVerb = "network_prune";  ///< the kind of its file
  std::vector<PruneGroup> groups;
};

}  // namespace headway
