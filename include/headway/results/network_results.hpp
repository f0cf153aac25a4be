#pragma once

#include <limits>
#include <string>
#include <vector>

#include "headway/analysis/rank_correlation.hpp"
#include "headway/analysis/removal.hpp"
#include "headway/core/record.hpp"
#include "headway/types.hpp"

// As in theory_results.hpp, the fields of every record stand below it. Here are also the fields of
// those records of `analysis` that a result holds.
namespace headway::analysis {

/// A mean over examples, and its standard error under the name with "_error".
template <class Visitor, RecordOf<Estimate> Record>
void fields(Visitor& visit, Record& r, const std::string& name, const char* meaning) {
  visit(name, r.mean, meaning);
  visit(name + "_error", r.error, "its standard error");
}

/// Estimates of all heads as two lists.
template <class Visitor>
void fields(Visitor& visit, const std::vector<Estimate>& estimates, const std::string& name,
            const char* meaning) {
  std::vector<double> means, errors;
  for (const Estimate& estimate : estimates) {
    means.push_back(estimate.mean);
    errors.push_back(estimate.error);
  }
  visit(name, means, meaning, {.place = FieldPlace::kFile});
  visit(name + "_error", errors, "their standard errors", {.place = FieldPlace::kFile});
}

/// How the numbers of a Quality are called. These are the names for a linear-value network; for a
/// transformer they are "r2" or "accuracy", and "loss".
struct QualityNames {
  std::string score = "accuracy";
  std::string error = "mean_squared_error";
};

template <class Visitor, RecordOf<Quality> Record>
void fields(Visitor& visit, Record& r, const QualityNames& names) {
  fields(visit, r.accuracy, names.score, "score of the network; NaN if undefined");
  fields(visit, r.squared_error, names.error, "error of the network");
}

template <class Visitor, RecordOf<RankStability> Record>
void fields(Visitor& visit, Record& r) {
  visit("kendall_tau", r.kendall_tau,
        "mean Kendall's tau between the ranks and those of redrawn numbers");
  visit("top_k_overlap", r.top_k_overlap,
        "mean share of the k best heads that stay among the k best");
  visit("k", r.k, "k: a quarter of the heads, at least 1");
}

/// The curve `name`, or nothing if there is none. For writing only.
template <class Visitor>
void fields(Visitor& visit, const QualityCurve& r, const std::string& name,
            const QualityNames& names) {
  if (!shows(visit, !r.quality.empty())) return;
  visit(name + "/order", r.order, "heads in the order of their removal, counted from 0");
  std::vector<double> score, score_error, error, error_error;
  for (const Quality& quality : r.quality) {
    score.push_back(quality.accuracy.mean);
    score_error.push_back(quality.accuracy.error);
    error.push_back(quality.squared_error.mean);
    error_error.push_back(quality.squared_error.error);
  }
  const auto show = [&](const std::string& what, const std::vector<double>& values,
                        const char* meaning) { visit(name + "/" + what, values, meaning); };
  show(names.score, score, "score of the network after removing the first 0, 1, 2, ... heads");
  show(names.score + "_error", score_error, "standard errors over the examples");
  show(names.error, error, "error of the network, likewise");
  show(names.error + "_error", error_error, "standard errors over the examples");
}

}  // namespace headway::analysis

namespace headway {

/// How a score of the heads agrees with what their removal costs the trained network.
struct RankCorrelation {
  double spearman = std::numeric_limits<double>::quiet_NaN();
  double kendall = std::numeric_limits<double>::quiet_NaN();
  double p_value = std::numeric_limits<double>::quiet_NaN();
  /// Over the examples; says nothing of other training runs.
  analysis::Bootstrap bootstrap{std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::quiet_NaN()};
};
template <class Visitor, RecordOf<RankCorrelation> Record>
void fields(Visitor& visit, Record& r, const std::string& name) {
  const auto show = [&](const char* part, auto& value, const char* meaning) {
    visit(name + "_" + part, value, meaning, {.json = name + "/" + part});
  };
  show("spearman", r.spearman, "Spearman's rho between the score and the cost of removal");
  show("kendall", r.kendall, "Kendall's tau between them");
  show("p_value", r.p_value, "two-sided p-value of Spearman's rho");
  show("sd", r.bootstrap.sd, "standard deviation of rho over redrawn examples");
  show("lower", r.bootstrap.lower, "2.5 % quantile of rho over redrawn examples");
  show("upper", r.bootstrap.upper, "97.5 % quantile of rho over redrawn examples");
}

/// One score of all heads, and the trained network pruned in the order of that score. The last head
/// of a layer always stays, so the curves end with one head in each layer.
struct NetworkScore {
  std::string name;
  analysis::QualityNames names;
  std::vector<double> score;
  RankCorrelation accuracy_drop, error_rise;
  analysis::QualityCurve rising, falling;
};

/// How a trained network answers one set of examples, all heads in place.
struct NetworkSet {
  std::string name;
  analysis::QualityNames names;
  Index examples = 0;
  analysis::Quality quality{};
};

/// A trained network pruned head by head: what does not depend on the theory's width and
/// temperature.
struct NetworkPruning {
  analysis::QualityNames names;
  bool rescaled = true;
  std::string measured_on;
  std::string greedy_on;
  std::string sensitivity_on;
  std::vector<NetworkSet> sets;
  MatrixXd order_parameter;                       ///< of a linear-value network; else empty
  std::vector<analysis::Estimate> accuracy_drop;  ///< of each head removed alone; paired errors
  std::vector<analysis::Estimate> error_rise;     ///< of the mean squared error, likewise
  /// "weight_norm" |V_l^h|, "path_norm", "sensitivity" (each layer's divided by its norm),
  /// "own_score" (the theory's score, of the network's own U_1).
  std::vector<NetworkScore> baselines;
  analysis::QualityCurve greedy;
  std::vector<analysis::QualityCurve> random;
  std::vector<double> random_mean, random_sd, random_error;
};

/// For writing only, as are the next ones.
template <class Visitor>
void fields(Visitor& visit, const NetworkScore& r) {
  visit("name", r.name, "name of the score", {.layout = FieldLayout::kKey});
  visit("score", r.score, "score of every head, layer 1 first");
  fields(visit, r.accuracy_drop, r.names.score + "_drop");
  fields(visit, r.error_rise, "error_rise");
  fields(visit, r.rising, "rising", r.names);    // lowest score first
  fields(visit, r.falling, "falling", r.names);  // highest score first
}

template <class Visitor>
void fields(Visitor& visit, const NetworkSet& r) {
  visit("name", r.name, "name of the set");
  visit("examples", r.examples, "examples of the set");
  fields(visit, r.quality, r.names);
}

template <class Visitor>
void fields(Visitor& visit, const NetworkPruning& r) {
  constexpr FieldForm kOptional = {.optional = true};
  visit("rescaled", r.rescaled, "whether pruned layers were multiplied by sqrt(H_l / heads left)");
  visit("measured_on", r.measured_on, "set on which drops and curves are measured");
  visit("greedy_on", r.greedy_on, "set on which the greedy order was searched");
  visit("sensitivity_on", r.sensitivity_on, "set on which the gradient sensitivity is measured");
  visit("sets", r.sets, "how the whole network does on each set",
        {.layout = FieldLayout::kColumns});
  if (shows(visit, r.order_parameter.size() > 0)) {
    visit("U_1", r.order_parameter, "linear-value network: U_1 = V V^T / N_1 of its weights");
  }
  fields(visit, r.accuracy_drop, r.names.score + "_drop",
         "drop of the score when a head is removed alone");
  fields(visit, r.error_rise, "error_rise",
         "rise of the squared error, or of the loss, when a head is removed alone");
  visit("scores", r.baselines, "scores of the heads by name", {.layout = FieldLayout::kByName});
  fields(visit, r.greedy, "greedy", r.names);
  std::vector<std::vector<double>> accuracy;
  std::vector<std::vector<int>> order;
  for (const analysis::QualityCurve& curve : r.random) {
    order.push_back(curve.order);
    accuracy.emplace_back();
    for (const analysis::Quality& q : curve.quality) accuracy.back().push_back(q.accuracy.mean);
  }
  constexpr FieldForm kRows = {.place = FieldPlace::kFile, .optional = true};
  visit("random/" + r.names.score, accuracy, "score in every random order, [orders, removals + 1]",
        kRows);
  visit("random/order", order, "heads in the order of their removal, [orders, removals]", kRows);
  visit("random/mean", r.random_mean, "mean score over the random orders", kOptional);
  visit("random/sd", r.random_sd, "standard deviation over the random orders", kOptional);
  visit("random/error", r.random_error, "standard error, sd / sqrt(orders)", kOptional);
}

}  // namespace headway
