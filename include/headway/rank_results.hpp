#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/train_results.hpp"
#include "headway/types.hpp"

// The records of `rank`. The fields of every record stand below it.
namespace headway {

using numerics::kUndefined;

/// One measure of all heads, with its errors.
struct RankColumn {
  std::string name;
  std::vector<double> value, error;  ///< of the heads
  double passes = 0.0;
};
template <class Visitor, RecordOf<RankColumn> Record>
void fields(Visitor& visit, Record& r) {
  visit("name", r.name, "name of the measure", {.layout = FieldLayout::kKey});
  visit("value", r.value, "of each head", {.axes = "head"});
  visit("error", r.error, "its standard error over examples", {.axes = "head"});
  visit("passes", r.passes, "its cost, in forward passes of the network over all examples");
}

/// The heads of one network, or the parts of one data set.
struct HeadRanking : NetworkRun {
  std::string target;                               ///< the column that the estimate is of
  std::string split;                                ///< which examples
  Index examples = 0;                               ///< P
  double loss = kUndefined, accuracy = kUndefined;  ///< of the readout, each example left out
  double penalty = kUndefined;
  Index cheapest = 1;  ///< k
  double halves = kUndefined, halves_sd = kUndefined, ceiling = kUndefined;
  double told_apart = kUndefined;
  std::vector<std::string> names;
  std::vector<int> layers, heads, ranks;
  std::vector<double> estimate, low, high, error, among_cheapest;
  std::vector<RankColumn> columns;

  /// Of parts of a data set, each cut while everything else stays as it is. That is no removal.
  [[nodiscard]] bool is_of_frozen_cuts() const { return target.starts_with("frozen_cut_"); }
};
template <class Visitor, RecordOf<HeadRanking> Record>
void fields(Visitor& visit, Record& r) {
  fields_of_network(visit, r);
  visit("target", r.target, "the column that the estimate is of");
  visit("split", r.split, "the examples that removal or cuts were measured on");
  visit("examples", r.examples, "their number P");
  visit("loss", r.loss, "squared error of the readout, each example left out");
  visit("accuracy", r.accuracy,
        "share of right classes of that readout; undefined for real labels");
  visit("penalty", r.penalty, "L2 penalty of the readout");
  visit("k", r.cheapest, "the k of among_cheapest or among_smallest_cuts");
  visit("halves", r.halves, "rank correlation of the orders on two halves of the examples");
  visit("halves_sd", r.halves_sd, "its standard deviation over random halves");
  visit("ceiling", r.ceiling, "the most that another order can be expected to agree with this one");
  visit("told_apart", r.told_apart,
        "share of the pairs of heads whose measured costs differ by more than two errors");
  visit("names", r.names, "names of the heads", {.axes = "head"});
  visit("layer", r.layers, "layer of each head, counted from 1", {.axes = "head"});
  visit("head", r.heads, "its number in the layer, counted from 1", {.axes = "head"});
  visit("rank", r.ranks,
        "rank from 1, the smallest estimate; heads that cannot be told apart share one",
        {.axes = "head"});
  visit("estimate", r.estimate,
        "combined estimate of the rise of the squared error without it, or by its frozen cut",
        {.axes = "head"});
  visit("estimate_low", r.low, "lower end of its 90 % interval", {.axes = "head"});
  visit("estimate_high", r.high, "upper end of its 90 % interval", {.axes = "head"});
  visit("estimate_error", r.error, "its standard deviation", {.axes = "head"});
  if (shows(visit, !r.is_of_frozen_cuts())) {
    visit("among_cheapest", r.among_cheapest, "probability to be one of the k cheapest heads",
          {.axes = "head"});
  }
  if (shows(visit, r.is_of_frozen_cuts())) {
    visit("among_smallest_cuts", r.among_cheapest,
          "of a data set: probability to be one of the k parts with the smallest frozen cuts",
          {.axes = "head"});
  }
  visit("columns", r.columns, "every measure", {.layout = FieldLayout::kByName});
}

/// `headway rank`.
struct RankResult : NetworkRuns<HeadRanking> {
  static constexpr const char* kVerb = "rank";
};

}  // namespace headway
