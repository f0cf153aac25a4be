#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/results/training_records.hpp"
#include "headway/study.hpp"
#include "headway/study/train_run.hpp"
#include "headway/train_task.hpp"
#include "headway/training/trainer.hpp"

namespace headway {

using numerics::kUndefined;

/// What a verb of trained networks returns.
template <class Run>
struct NetworkRuns {
  std::vector<Run> runs;    ///< those that were begun
  std::size_t planned = 0;  ///< how many there would be without an interruption
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
};

/// Which trained network a record is about.
struct NetworkRun {
  Index run = 1;
  std::string label, variant;
  std::uint64_t seed = 0;
};

/// Its fields, as the first of `Record`, which has it as its base.
template <class Visitor, class Record>
void fields_of_network(Visitor& visit, Record& r) {
  visit("run", r.run, "number of the run in the training study, counted from 1");
  visit("label", r.label,
        "the run in short: what the sweep sets, without seed; with task.seed if both are swept");
  visit("variant", r.variant,
        "attention variant, with \" + mixture\" or \" + encoder\" if it has them");
  visit("seed", r.seed, "seed of the run");
}

/// Sizes and costs of a run: train_cost().
struct TrainCost {
  Index parameters = 0;
  double flops_per_step = 0.0;
  double attention_flops_per_step = 0.0;
  std::string device;
  /// Memory that a run needs at least: parameters, gradients and two moments in the trainer; the
  /// same once more as a state; the last and best weights of the result; the streams into the
  /// layers.
  double least_bytes = 0.0;
};
template <class Visitor, RecordOf<TrainCost> Record>
void fields(Visitor& visit, Record& r) {
  visit("device", r.device, "device: \"cpu\" or \"cuda\"");
  visit("parameters", r.parameters, "number of trained parameters");
  visit("flops_per_step", r.flops_per_step, "floating-point operations of a step");
  visit("attention_flops_per_step", r.attention_flops_per_step, "those of attention alone",
        {.place = FieldPlace::kFile});
}

/// One run, finished or not: what a checkpoint keeps and a result shows.
struct TrainedRun {
  std::vector<Setting> settings;
  std::string label;    ///< run_label()
  std::string variant;  ///< train.attention, with " + mixture", " + encoder" where it has them
  std::uint64_t seed = 0;
  TrainCost cost;
  std::vector<training::TrainRecord> records;
  training::TrainSummary summary;  ///< outcome, final evaluations, best step
  double training_seconds = 0.0;   ///< of every call, evaluations left out
  std::string sample;              ///< text: what the trained model writes
  std::string tokenizer;           ///< as TrainTask's
  /// Of examples that the study alone does not describe: those of arrays.
  std::optional<training::TaskFormat> format;
  std::vector<SplitCeiling> ceilings;
  training::TrainState state;  ///< no parameters before the first checkpoint

  /// Trained to its end, or diverged: nothing is left to do.
  [[nodiscard]] bool done() const;
};

/// The training loss of the last record, a mean over its steps. The loss of the last step if
/// nothing was recorded.
double final_train_loss(const TrainedRun& run);

/// All but records, weights and state.
template <class Visitor, RecordOf<TrainedRun> Record>
void fields(Visitor& visit, Record& r) {
  visit("label", r.label,
        "the run in short: what the sweep sets, without seed; with task.seed if both are swept");
  visit("variant", r.variant,
        "attention variant, with \" + mixture\" or \" + encoder\" if it has them");
  visit("seed", r.seed, "seed of the run");
  std::vector<std::string> words = setting_words(r.settings);
  visit("settings", words, "what the sweep sets: key, value, key, value, ...",
        {.place = FieldPlace::kFile});
  if constexpr (!std::is_const_v<Record>) r.settings = settings_of(words);
  fields(visit, r.summary);
  fields(visit, r.cost);
  const double loss = final_train_loss(r);
  visit("train_loss", loss, "training loss, mean over the steps of the last record");
  visit("ceiling", r.ceilings, "what any solver can reach at best on each split",
        {.json = "ceilings", .layout = FieldLayout::kByName, .optional = true});
  visit("training_seconds", r.training_seconds, "training time of all calls, evaluations left out");
  visit("sample", r.sample, "text that the trained model writes",
        training::if_any(visit, r.sample));
}

/// Mean and standard error of one number over runs that differ in their seeds alone.
struct Spread {
  Index count = 0;  ///< runs whose value is finite
  double mean = kUndefined;
  double standard_error = kUndefined;  ///< undefined for one run
};
template <class Visitor, RecordOf<Spread> Record>
void fields(Visitor& visit, Record& r, const std::string& name, const char* meaning) {
  visit(name, r.mean, meaning, {.json = name + "/mean"});
  visit(name + "_standard_error", r.standard_error, "its standard error; undefined for one run",
        {.json = name + "/standard_error"});
  visit(name + "_count", r.count, "number of runs whose value is finite",
        {.json = name + "/count"});
}
/// Takes only the values that are finite.
Spread spread_of(std::vector<double> values);

/// One metric of one split over the seeds of a group: at the last step, and at the best.
struct SplitSpread {
  std::string split, metric;
  Spread last, best;
};
template <class Visitor, RecordOf<SplitSpread> Record>
void fields(Visitor& visit, Record& r) {
  visit("split", r.split, "name of the split", {.layout = FieldLayout::kKey});
  visit("metric", r.metric, "metric that is shown for the split; \"\": the loss",
        {.place = FieldPlace::kFile});
  const std::string shown = r.metric.empty() ? "loss" : r.metric;
  visit("metric", shown, "metric that is shown for the split", {.place = FieldPlace::kJson});
  fields(visit, r.last, "last", "metric at the last step, mean over seeds");
  fields(visit, r.best, "best", "metric at the best step, mean over seeds");
}

/// One row of the final table.
struct TrainGroup {
  std::string label;
  std::vector<std::size_t> runs;
  std::vector<std::uint64_t> seeds;
  Index diverged = 0;  ///< of the runs; they are in no mean
  Index parameters = 0;
  double flops_per_step = 0.0;
  Spread train_loss;
  std::vector<SplitSpread> splits;
};
template <class Visitor, RecordOf<TrainGroup> Record>
void fields(Visitor& visit, Record& r) {
  visit("label", r.label, "the runs in short");
  visit("runs", r.runs, "positions of the runs in runs/, from 0",
        {.place = FieldPlace::kFile, .layout = FieldLayout::kAttribute});
  visit("seeds", r.seeds, "seeds of the runs", {.place = FieldPlace::kJson});
  visit("diverged", r.diverged, "number of runs that diverged; they count in no mean");
  visit("parameters", r.parameters, "trained parameters of a run");
  visit("flops_per_step", r.flops_per_step, "floating-point operations of a step");
  fields(visit, r.train_loss, "train_loss", "training loss, mean over seeds");
  visit("splits", r.splits, "one entry a split", {.layout = FieldLayout::kByName});
}

/// What `train` returns: a run for each point of the grid that was begun, and their spread over
/// seeds.
struct TrainResult : NetworkRuns<TrainedRun> {
  static constexpr const char* kVerb = "train";
};

/// The final table: groups in the order of their first runs.
std::vector<TrainGroup> group_runs(const TrainResult& result);

/// The metric that tables show for a split: the first of r2, bits_per_byte and accuracy that is
/// there. "" if there is none; the loss is then shown.
std::string main_metric(const training::Evaluation& evaluation);

/// train.attention with its nonlinearity where one is set, and " + mixture", " + encoder" for
/// models that have them.
std::string run_variant(const Study& study);

/// What a sweep sets, but for seeds, in short: "hyla", "hyla, layers = 4". task.seed stays where
/// seed is swept, too ("hyla, task.seed = 2"), so that runs of one label are independent.
std::string run_label(const std::vector<Setting>& settings, const Study& study);

/// What keeps a run from being usable, in words; empty when all is well.
std::string training_fault(const TrainedRun& run);

/// The best accuracy that is possible; "" for tasks whose examples have one right answer each.
std::string ceilings_text(const std::vector<SplitCeiling>& ceilings);

}  // namespace headway
