#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/results/network_results.hpp"
#include "headway/theory_results.hpp"
#include "headway/types.hpp"

// The records of `prune`. As in theory_results.hpp, the fields of every record stand below it.
namespace headway {

/// One head of one point: its scores, and what the predictor loses without it.
struct HeadReport {
  int layer = 1, head = 1;
  std::string name;
  double score = kUndefined, score_weighted = kUndefined;
  double accuracy_without = kUndefined, mean_squared_error_without = kUndefined;
  // What the predictor loses without the head on validation, else test examples (eq. 66): all are
  // positive where it needs the head.
  std::string set;
  double squared_error_rise = kUndefined, squared_error_rise_sd = kUndefined;
  double squared_error_rise_error = kUndefined, accuracy_drop_error = kUndefined;
  double squared_error_rise_without_theory = kUndefined;
  double squared_error_rise_without_theory_error = kUndefined;
  double accuracy_drop = kUndefined, accuracy_drop_sd = kUndefined;
};
template <class Visitor, RecordOf<HeadReport> Record>
void fields(Visitor& visit, Record& r) {
  visit("layer", r.layer, "layer of the head, counted from 1");
  visit("head", r.head, "number of the head in its layer, counted from 1");
  visit("name", r.name, "name of the head");
  visit(
      "score", r.score,
      "how much of U_1 lies on paths through the head, divided by the largest such value (eq. 53)");
  visit("score_weighted", r.score_weighted,
        "as score, but entries count 1/(2 H_l) if only one of their two paths uses the head");
  visit("accuracy_without", r.accuracy_without, "test accuracy of the predictor without the head");
  visit("mean_squared_error_without", r.mean_squared_error_without,
        "test squared error of the predictor without the head");
  visit("set", r.set,
        "set on which rises and drops are measured: \"validation\" if there is one, else \"test\"");
  visit("squared_error_rise", r.squared_error_rise,
        "rise of the squared error without the head; positive: the head is needed");
  visit("squared_error_rise_sd", r.squared_error_rise_sd,
        "its standard deviation over the posterior of U_1");
  visit("squared_error_rise_error", r.squared_error_rise_error,
        "its standard error over redrawn examples");
  visit("squared_error_rise_without_theory", r.squared_error_rise_without_theory,
        "the same rise with 1 as every entry of U_1: a ridge regression on the sum of all paths");
  visit("squared_error_rise_without_theory_error", r.squared_error_rise_without_theory_error,
        "its standard error over redrawn examples");
  visit("accuracy_drop", r.accuracy_drop,
        "drop of the accuracy without the head; positive: the head is needed");
  visit("accuracy_drop_sd", r.accuracy_drop_sd,
        "its standard deviation over posterior draws of U_1");
  visit("accuracy_drop_error", r.accuracy_drop_error, "its standard error over redrawn examples");
  constexpr FieldForm kJson = {.place = FieldPlace::kJson};  // names of version 0.2
  const double accuracy_change = 0.0 - r.accuracy_drop;
  visit("squared_error_change", r.squared_error_rise, "older name of squared_error_rise", kJson);
  visit("squared_error_change_sd", r.squared_error_rise_sd, "older name of squared_error_rise_sd",
        kJson);
  visit("accuracy_change", accuracy_change, "accuracy without the head minus that with it", kJson);
}

/// Accuracy, or the mean squared error where labels are no classes, after removing 0, 1, 2, ...
/// heads in some order.
struct PruningCurve {
  std::vector<int> order;  ///< heads removed, as indices into PrunePoint::heads
  std::vector<double> quality;
};
template <class Visitor, RecordOf<PruningCurve> Record>
void fields(Visitor& visit, Record& r, const std::string& name, const char* meaning) {
  visit(name, r.quality, meaning, {.optional = true, .axes = "removed"});
  visit(name + "_order", r.order,
        "heads in the order of their removal, counted from 0 over all layers",
        {.optional = true, .axes = "removal"});
}

/// Where changes without a head and their posterior deviations come from: draws of U_1, or the
/// saddle point and the leading order in 1/N.
inline constexpr const char* kByDraws = "draws";
inline constexpr const char* kToLeadingOrder = "leading order";

/// The heads of one width and temperature, and their removal.
struct PrunePoint {
  std::vector<Index> widths;
  double temperature = 0.0;
  double accuracy = kUndefined;
  std::vector<HeadReport> heads;
  std::string posterior_errors;  ///< kByDraws, kToLeadingOrder or ""
  std::string draws_missing;     ///< why not by draws, for a warning; not kept in files
  analysis::RankStability rank_stability{kUndefined, kUndefined, 0};  ///< of squared_error_rise
  PruningCurve by_score, by_squared_error, greedy;
  std::string greedy_on;  ///< "validation", else "test"
  std::vector<PruningCurve> random;
  std::vector<double> random_mean, random_sd;
  /// The data set's trained network, pruned in the order of this point's scores; or empty.
  std::vector<NetworkScore> network;
  double seconds = 0.0;
};
/// All but `network`, which has a group of its own. For writing only.
template <class Visitor>
void fields(Visitor& visit, const PrunePoint& r) {
  constexpr FieldPlace kFile = FieldPlace::kFile;
  visit("accuracy", r.accuracy, "test accuracy with all heads", {.place = kFile});
  visit("seconds", r.seconds, "time of the pruning", {.place = kFile});
  visit("", r.heads, "one entry a head, layer 1 first",
        {.json = "heads", .layout = FieldLayout::kColumns, .axes = "head"});
  visit("posterior_errors", r.posterior_errors,
        "where rises, drops and their _sd come from: \"draws\" of the posterior; the \"leading "
        "order\" "
        "in 1/N at the saddle point (older files: \"1/N\"); or \"\" without _sd");
  visit("rank_stability", r.rank_stability,
        "stability of the ranks by squared_error_rise, over the posterior of U_1 and redrawn "
        "examples");
  fields(
      visit, r.by_score, "cumulative/score",
      "accuracy after removing 0, 1, 2, ... heads, lowest score first; squared error if the labels "
      "are no classes");
  fields(visit, r.by_squared_error, "cumulative/squared_error",
         "the same, lowest squared_error_rise first");
  std::vector<std::vector<double>> quality;
  std::vector<std::vector<int>> order;
  for (const PruningCurve& curve : r.random) {
    quality.push_back(curve.quality);
    order.push_back(curve.order);
  }
  visit("cumulative/random", quality,
        "the same in random orders, one row each; short rows end in NaN",
        {.place = kFile, .optional = true, .axes = "order removed"});
  visit("cumulative/random_order", order, "the random orders, one row each; short rows end in -1",
        {.place = kFile, .optional = true, .axes = "order removal"});
  visit("cumulative/random_mean", r.random_mean, "mean over the random orders",
        {.json = "cumulative/random/mean", .optional = true, .axes = "removed"});
  visit("cumulative/random_sd", r.random_sd, "standard deviation over the random orders",
        {.json = "cumulative/random/sd", .optional = true, .axes = "removed"});
  fields(visit, r.greedy, "cumulative/greedy",
         "the same in greedy order: at each step the head goes that costs least");
  if (shows(visit, !r.greedy_on.empty())) {
    visit("cumulative/greedy_on", r.greedy_on, "set on which the greedy order was searched");
  }
}
template <class Visitor>
void added_fields(Visitor& visit, const PrunePoint& r) {
  visit("pruning", r, "head by head", {.layout = FieldLayout::kMerged});
  visit("network/scores", r.network, "the theory's scores against the trained network, by name",
        {.json = "network", .layout = FieldLayout::kByName, .optional = true});
}

/// What `prune` of the theory returns: a point for each of `solve`, in the same order.
struct PruneResult {
  static constexpr const char* kVerb = "prune";
  SolveResult solve;
  std::vector<PrunePoint> points;
  VectorXd path_norms;  ///< of each path: root mean square of |xi_pi| over the training examples
  std::optional<NetworkPruning> network;  ///< where the data set carries a trained network
  double seconds = 0.0;
};

}  // namespace headway
