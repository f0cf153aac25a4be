#pragma once

#include <array>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/core/text.hpp"
#include "headway/training/trainer.hpp"

// The fields of the records of `training` that results and checkpoints hold.
namespace headway::training {

inline Words<TrainOutcome> words_of(TrainOutcome /*any*/) {
  static constexpr std::array<Word<TrainOutcome>, 4> kWords{
      {{"not run", TrainOutcome::kNotRun},
       {"finished", TrainOutcome::kFinished},
       {"interrupted", TrainOutcome::kInterrupted},
       {"diverged", TrainOutcome::kDiverged}}};
  return kWords;
}

/// JSON leaves an empty text out.
template <class Visitor>
FieldForm if_any(const Visitor& visit, const std::string& text) {
  return {.place = shows(visit, !text.empty()) ? FieldPlace::kEverywhere : FieldPlace::kFile};
}

template <class Visitor, RecordOf<Evaluation> Record>
void fields(Visitor& visit, Record& r) {
  visit("examples", r.examples, "examples that were evaluated");
  visit("loss", r.loss, "loss, mean over these examples");
  std::vector<std::string> names;
  for (const Metric& metric : r.metrics) names.push_back(metric.name);
  std::string text = join(names, ",");
  visit("metrics", text, "names of the metrics; each is an attribute, too",
        {.place = FieldPlace::kFile});
  if constexpr (!std::is_const_v<Record>) {
    r.metrics.clear();
    for (const std::string& name : split(text, ',')) r.metrics.push_back({name, 0.0});
  }
  for (auto& metric : r.metrics) visit(metric.name, metric.value, "metric of the split");
}

/// An evaluation by the name of its split.
template <class Visitor, RecordOf<std::pair<std::string, Evaluation>> Record>
void fields(Visitor& visit, Record& r) {
  visit("split", r.first, "name of the split", {.layout = FieldLayout::kKey});
  fields(visit, r.second);
}
/// What a network was told of its examples. Bytes of classes are left out.
template <class Visitor, RecordOf<TaskFormat> Record>
void fields(Visitor& visit, Record& r) {
  visit("tokens", r.tokens, "tokens of an example");
  visit("features", r.features, "numbers of a token; 0 where tokens are ids");
  visit("vocabulary", r.vocabulary, "ids that a token may be; 0 where tokens are numbers");
  visit("outputs", r.outputs, "outputs of a scored token: numbers, or classes");
  visit("scored", r.scored, "the last tokens that have targets");
  bool classes = r.loss == LossKind::kCrossEntropy;
  visit("classes", classes, "whether the targets are classes");
  if constexpr (!std::is_const_v<Record>) {
    r.loss = classes ? LossKind::kCrossEntropy : LossKind::kSquaredError;
  }
  visit("signs", r.signs, "whether the targets are -1 and +1");
  visit("all_or_nothing", r.all_or_nothing, "whether an example is right as a whole or not");
  visit("weighted", r.weighted, "whether some targets do not count");
}
template <class Visitor, RecordOf<TrainSummary> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldPlace kFile = FieldPlace::kFile;
  visit("outcome", r.outcome,
        "how the run ended: \"finished\", \"interrupted\", \"diverged\" or \"not run\"");
  visit("message", r.message, "why the run ended, in words", if_any(visit, r.message));
  visit("steps", r.steps, "updates of the weights, those of earlier calls included");
  visit("last_train_loss", r.last_train_loss, "training loss of the last step", {.place = kFile});
  visit("best_step", r.best_step, "step of the best weights; -1: nothing was evaluated");
  visit("best_loss", r.best_loss, "loss of the best weights on best_split", {.place = kFile});
  const double shown = r.best_step >= 0 ? r.best_loss : std::numeric_limits<double>::quiet_NaN();
  visit("best_loss", shown, "loss of the best weights on best_split", {.place = FieldPlace::kJson});
  visit("best_split", r.best_split, "split whose loss chose the best step", {.optional = true});
  visit("steps_per_second", r.steps_per_second, "steps a second, evaluations left out");
  visit("flops_per_second", r.flops_per_second, "flops_per_step times steps_per_second",
        {.place = kFile});
  std::vector<std::string> names;
  for (const auto& [split, evaluation] : r.evaluations) names.push_back(split);
  std::string splits = join(names, ",");
  visit("splits", splits, "names of the evaluated splits, in their order", {.place = kFile});
  visit("final", r.evaluations, "loss and metrics of each split at the end; absent unless finished",
        {.json = "evaluations", .layout = FieldLayout::kByName});
}
/// The columns of a curve; a reader names the metrics first.
template <class Visitor, RecordOf<TrainRecord> Record>
void fields(Visitor& visit, Record& r) {
  visit("step", r.step, "updates so far");
  visit("loss", r.loss, "loss; of train: mean over the steps since the last record");
  visit("learning_rate", r.learning_rate, "learning rate, of train only");
  visit("gradient_norm", r.gradient_norm,
        "norm of the last gradient before clipping, of train only");
  visit("steps_per_second", r.steps_per_second, "steps a second, evaluations left out");
  for (auto& metric : r.metrics) visit(metric.name, metric.value, "metric of the split");
}
/// A record with its number among those of all splits.
struct CurveRow {
  std::size_t number = 0;
  TrainRecord record;
};
template <class Visitor, RecordOf<CurveRow> Record>
void fields(Visitor& visit, Record& r) {
  visit("record", r.number, "number of the record among those of all splits");
  fields(visit, r.record);
}

/// The records of each split, and back. All of a split have the same metrics.
std::map<std::string, std::vector<CurveRow>> curves_of(const std::vector<TrainRecord>& records);
std::vector<TrainRecord> records_of(const std::map<std::string, std::vector<CurveRow>>& curves);

/// All but the parameters.
template <class Visitor, RecordOf<TrainState> Record>
void fields(Visitor& visit, Record& r) {
  visit("step", r.step, "updates so far");
  visit("examples", r.examples, "training examples so far");
  visit("seed", r.seed, "seed of every random stream");
  visit("best_step", r.best_step, "step of the best weights; -1: nothing was evaluated");
  visit("best_loss", r.best_loss, "loss of the best weights on best_split");
  visit("loss_since_record", r.loss_since_record, "sum of the losses since the last record");
  visit("steps_since_record", r.steps_since_record, "steps since the last record");
  std::vector<std::string> names;
  for (const NamedTensor& tensor : r.parameters) names.push_back(tensor.name);
  visit("names", names, "names of the parameters, in order");
  if constexpr (!std::is_const_v<Record>) {
    for (auto* tensors : {&r.parameters, &r.first_moments, &r.second_moments}) {
      tensors->clear();
      for (const std::string& name : names) tensors->push_back({name, {}, {}});
    }
  }
  visit("first_moments", r.first_moments, "first moments of the optimiser, by parameter");
  visit("second_moments", r.second_moments, "second moments of the optimiser, by parameter");
}

}  // namespace headway::training
