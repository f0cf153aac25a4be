#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/train_results.hpp"

namespace headway {

/// One network on the splits of a task.
struct EvaluatedRun : NetworkRun {
  Index step = 0;
  double held_out_seen = 0.0;
  std::string task;  ///< [task] that it was put on, as a study has it
  std::vector<std::pair<std::string, training::Evaluation>> evaluations;
};
template <class Visitor, RecordOf<EvaluatedRun> Record>
void fields(Visitor& visit, Record& r) {
  fields_of_network(visit, r);
  visit("step", r.step, "updates of the weights before they were taken");
  visit("held_out_seen", r.held_out_seen,
        "share of the held_out tasks that the network was trained on; 0 if the split is that of "
        "training");
  visit("evaluated_on", r.task, "[task] that the network was evaluated on");
  visit("evaluations", r.evaluations, "loss and metrics of each split",
        {.layout = FieldLayout::kByName});
}

/// One number over the runs that differ in their seeds alone.
struct MetricSpread {
  std::string split, metric;  ///< "loss", or the name of a metric
  Spread value;
};
template <class Visitor, RecordOf<MetricSpread> Record>
void fields(Visitor& visit, Record& r) {
  visit("split", r.split, "split of the task");
  visit("metric", r.metric, "\"loss\", or the name of a metric");
  fields(visit, r.value, "value", "its mean over seeds");
}

/// The networks that differ by their seeds alone.
struct EvaluatedGroup {
  std::string label;
  std::vector<std::uint64_t> seeds;
  std::vector<MetricSpread> metrics;
};
template <class Visitor, RecordOf<EvaluatedGroup> Record>
void fields(Visitor& visit, Record& r) {
  visit("label", r.label, "the runs in short");
  visit("seeds", r.seeds, "seeds of the runs", {.layout = FieldLayout::kAttribute});
  visit("metrics", r.metrics, "every metric of every split", {.layout = FieldLayout::kColumns});
}

/// What `evaluate` returns: every metric of every split of each network, and their means over
/// seeds.
struct EvaluateResult : NetworkRuns<EvaluatedRun> {
  static constexpr const char* kVerb = "evaluate";
  std::string task;  ///< task_of_all()
};

/// Over seeds, in the order of the first runs.
std::vector<EvaluatedGroup> group_evaluations(const EvaluateResult& result);

}  // namespace headway
