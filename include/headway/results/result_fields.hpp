#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "headway/error.hpp"
#include "headway/evaluate_results.hpp"
#include "headway/latents_results.hpp"
#include "headway/model/path_index.hpp"
#include "headway/network_predict_results.hpp"
#include "headway/network_prune_results.hpp"
#include "headway/predict_results.hpp"
#include "headway/prune_results.hpp"
#include "headway/rank_results.hpp"
#include "headway/results/choice.hpp"
#include "headway/results/lookup.hpp"
#include "headway/sample_results.hpp"
#include "headway/study.hpp"
#include "headway/train_results.hpp"

// result_fields(visit, study, result) lists what a result file and JSON hold of a verb's whole
// result. It is for writing only. A view joins members of different records that files put into one
// group.
namespace headway {

/// Results that hold a solve. Other verbs may take its order parameters.
using TheoryResults = std::tuple<SolveResult, AlignResult, PruneResult, SampleResult>;

/// A solved point, with the Gaussian process at its temperature.
struct SolvedPointView {
  const SolveResult* solve = nullptr;
  const SolvePoint* point = nullptr;
  bool beside_samples = false;  ///< JSON then has all that samples are compared with
};
template <class Visitor>
void fields(Visitor& visit, const SolvedPointView& r) {
  const double temperature = r.point->temperature;
  const double limit_accuracy = gaussian_process_accuracy(*r.solve, temperature);
  fields(visit, *r.point);
  visit("gp_accuracy", limit_accuracy, "accuracy of the Gaussian process at this temperature",
        {.place = r.beside_samples ? FieldPlace::kEverywhere : FieldPlace::kFile});
  if (const GaussianProcessPoint* limit = gaussian_process_at(*r.solve, temperature)) {
    constexpr FieldForm kArray = {.place = FieldPlace::kFile, .layout = FieldLayout::kOutputs};
    visit("gaussian_process/mean", limit->predictor.mean,
          "mean of the Gaussian process on the test set", kArray);
    visit("gaussian_process/variance", limit->predictor.variance,
          "variance of the Gaussian process there", kArray);
  }
  const auto first_layer = [&](const theory::OrderParameters& u, const std::string& name) {
    if (!r.beside_samples || u.layers.empty()) return;
    visit(name, u.layers.front(), "U_1 alone", {.place = FieldPlace::kJson});
  };
  if (r.point->corrected.defined) first_layer(r.point->corrected.mean, "corrected/U_1");
  first_layer(r.point->order_parameters, "U_1");
}

/// A solved point, and what a verb adds to it: null if the verb was interrupted before this point.
template <class Added>
struct PointView {
  SolvedPointView solved;
  const Added* added = nullptr;
};
template <class Visitor, class Added>
void fields(Visitor& visit, const PointView<Added>& r) {
  fields(visit, r.solved);
  if (r.added != nullptr) added_fields(visit, *r.added);
}

/// A sampled point, and the theory there: null if the solve was interrupted before this point.
struct SampledPointView {
  const SamplePoint* point = nullptr;
  SolvedPointView theory;
};
template <class Visitor>
void fields(Visitor& visit, const SampledPointView& r) {
  fields(visit, *r.point);
  const MatrixXd& weights = r.point->weights;  // columns: the draws of chain 1, of chain 2, ...
  Tensor draws;
  draws.shape = {r.point->chains, r.point->draws, weights.rows()};
  draws.values.assign(weights.data(), weights.data() + weights.size());
  visit("draws/weights", draws, "draws of the weights, [chain, draw, weight]; if asked for",
        {.place = FieldPlace::kFile, .optional = true});
  if (r.theory.point == nullptr) return;
  const double limit_accuracy = gaussian_process_accuracy(*r.theory.solve, r.point->temperature);
  visit("gp_accuracy", limit_accuracy, "accuracy of the Gaussian process at this temperature",
        {.place = FieldPlace::kFile});
  visit("theory", r.theory, "the theory at the same point");
}

/// A choice of a temperature, and how good it is.
struct ChoiceView {
  const SolveResult* solve = nullptr;
  TemperatureChoice choice;
};
template <class Visitor>
void fields(Visitor& visit, const ChoiceView& r) {
  fields(visit, r.choice);
  const double log_evidence = log_evidence_at(*r.solve, r.choice);
  visit("log_evidence", log_evidence, "log p(y) in nats");
  const PredictorReport& predictor = predictor_at(*r.solve, r.choice);
  visit("accuracy", predictor.accuracy, "accuracy on the test set");
  visit("test_mean_squared_error", predictor.mean_squared_error, "squared error on the test set");
  visit("sets", predictor.sets, "further sets", {.layout = FieldLayout::kByName, .optional = true});
}

/// What removing a head costs the trained network, and its scores.
struct NetworkHeadView {
  const HeadReport* head = nullptr;
  const NetworkPruning* network = nullptr;
  std::size_t number = 0;
};
template <class Visitor>
void fields(Visitor& visit, const NetworkHeadView& r) {
  visit("layer", r.head->layer, "layer of the head, counted from 1");
  visit("head", r.head->head, "number of the head in its layer, counted from 1");
  visit("name", r.head->name, "name of the head");
  fields(visit, r.network->accuracy_drop[r.number], "accuracy_drop",
         "drop of the accuracy when the head is removed alone");
  fields(visit, r.network->error_rise[r.number], "error_rise",
         "rise of the squared error when the head is removed alone");
  for (const NetworkScore& score : r.network->baselines) {
    visit(score.name, score.score[r.number], "score of the head");
  }
}

/// All of a solve but its points.
template <class Visitor>
void solve_fields(Visitor& visit, const SolveResult& r) {
  constexpr FieldForm kJson = {.place = FieldPlace::kJson};
  fields(visit, r);
  visit("paths", model::path_names(r.heads), "names of the paths",
        {.place = FieldPlace::kFile, .axes = "path"});
  for (std::size_t i = 0; i < r.set_names.size(); ++i) {
    visit("set_examples/" + r.set_names[i], r.set_examples[i], "examples of the set", kJson);
  }
  visit("gaussian_process", r.gaussian_process, "the infinite-width limit at each temperature",
        {.optional = true});
  visit("threads", r.threads, "threads that were used", kJson);
}

/// A solve with what a verb adds to its points, one after another.
template <class Visitor, class Added>
void solve_fields(Visitor& visit, const SolveResult& r, const std::vector<Added>& added,
                  double seconds) {
  if (added.size() > r.points.size()) {
    throw Error(ErrorKind::kInternal, "a result of more points than were solved");
  }
  solve_fields(visit, r);
  visit("partial", r.interrupted, "interrupted: only finished points are there",
        {.place = FieldPlace::kJson});
  std::vector<PointView<Added>> points;
  for (const SolvePoint& point : r.points) {
    const auto at = std::find_if(added.begin(), added.end(), [&point](const Added& one) {
      return one.widths == point.widths && one.temperature == point.temperature;
    });
    points.push_back({{&r, &point}, at == added.end() ? nullptr : &*at});
  }
  visit("points", points, "one entry a sweep point");
  visit("chosen", choose_temperatures(r), "temperature that each rule chooses",
        {.place = FieldPlace::kFile, .optional = true});
  visit("seconds", seconds, "time of the computation", {.place = FieldPlace::kJson});
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& /*study*/, const SolveResult& r) {
  solve_fields(visit, r, std::vector<SolvePoint>(), r.seconds);
  std::vector<ChoiceView> choices;
  for (TemperatureChoice& choice : choose_temperatures(r)) {
    choices.push_back({&r, std::move(choice)});
  }
  if (choices.empty()) return;
  visit("chosen", choices, "temperature that each rule chooses", {.place = FieldPlace::kJson});
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& /*study*/, const AlignResult& r) {
  solve_fields(visit, r.solve, r.points, r.seconds);
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& /*study*/, const PruneResult& r) {
  solve_fields(visit, r.solve, r.points, r.seconds);
  visit("path_norms", r.path_norms,
        "norm of the features of each path, root mean square over the training examples",
        {.optional = true});
  if (!r.network) return;
  visit("network", *r.network, "the trained network of the data set, pruned");
  std::vector<NetworkHeadView> heads;
  for (std::size_t h = 0; !r.points.empty() && h < r.points[0].heads.size(); ++h) {
    heads.push_back({&r.points[0].heads[h], &*r.network, h});
  }
  visit("network/heads", heads, "heads of the trained network", {.place = FieldPlace::kJson});
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& /*study*/, const SampleResult& r) {
  solve_fields(visit, r.solve);
  visit("partial", r.interrupted, "interrupted: only finished points are there",
        {.place = FieldPlace::kJson});
  std::vector<SampledPointView> points;
  for (const SamplePoint& point : r.points) {
    points.push_back(
        {&point, {&r.solve, theory_at(r.solve, point.widths, point.temperature), true}});
  }
  visit("points", points, "one entry a sweep point");
  visit("seconds", r.seconds, "time of the computation", {.place = FieldPlace::kJson});
}

/// How much of a trained run is written.
enum class RunParts { kNumbers, kLastAndBestWeights, kWholeState };

/// A run, and its number from 1 among those of a result (0: none). Below its group:
///   curves/<split>      a table of the records, the number of each among those of all splits first
///   weights/<name>, best_weights/<name>   float32, named as training::TrainState says
///   tokenizer           bytes of the SentencePiece model that made the text's tokens (beside the
///                       weights of a result: a run that goes on learns the same again)
///   format              training::TaskFormat, of networks of arrays (beside weights of a result)
///   state               the rest of training::TrainState (whole states)
struct TrainedRunView {
  const TrainedRun* run = nullptr;
  RunParts parts = RunParts::kNumbers;
  std::size_t number = 0;
};
template <class Visitor>
void fields(Visitor& visit, const TrainedRunView& r) {
  const TrainedRun& run = *r.run;
  visit("run", r.number, "number of the run, counted from 1", {.place = FieldPlace::kJson});
  visit("settings", run.settings, "what the sweep sets", {.place = FieldPlace::kJson});
  fields(visit, run);
  for (const auto& [split, rows] : training::curves_of(run.records)) {
    visit("curves/" + split, rows, "curve of a split",
          {.place = FieldPlace::kFile, .layout = FieldLayout::kTable});
  }
  if (r.parts == RunParts::kNumbers || run.state.parameters.empty()) return;
  constexpr FieldForm kArrays = {.place = FieldPlace::kFile, .optional = true};
  visit("weights", run.state.parameters, "weights at the last step", kArrays);
  visit("best_weights", run.state.best_parameters, "weights at the best step", kArrays);
  if (r.parts == RunParts::kWholeState) {
    visit("state", run.state, "state of the optimiser", {.place = FieldPlace::kFile});
  } else {
    const std::vector<std::uint8_t> bytes(run.tokenizer.begin(), run.tokenizer.end());
    visit("tokenizer", bytes, "a SentencePiece model", kArrays);
    if (shows(visit, run.format.has_value())) {
      const training::TaskFormat format = run.format.value_or(training::TaskFormat{});
      visit("format", format, "what the network was told of its examples: it predicts without them",
            {.place = FieldPlace::kFile});
    }
  }
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& study, const TrainResult& r) {
  constexpr FieldForm kJson = {.place = FieldPlace::kJson};
  visit("summary", true, "not a record of a run", kJson);
  visit("partial", r.interrupted, "interrupted: only runs that were begun are there", kJson);
  visit("planned_runs", static_cast<Index>(r.planned), "runs of the sweep");
  visit("task", study.task.kind(), "kind of task", {.place = FieldPlace::kFile});
  std::vector<TrainedRunView> runs;
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    runs.push_back({&r.runs[i],
                    study.train.keep_weights ? RunParts::kLastAndBestWeights : RunParts::kNumbers,
                    i + 1});
  }
  visit("runs", runs, "runs that were begun");
  visit("groups", group_runs(r), "final table: one row a setting, over seeds",
        {.json = "table", .optional = true});
  visit("seconds", r.seconds, "time of the computation", kJson);
  visit("threads", r.threads, "threads that were used", kJson);
}

/// Networks and the table over their seeds.
template <class Visitor, class Result, class Group>
void network_fields(Visitor& visit, const Study& study, const Result& r,
                    const std::vector<Group>& groups) {
  constexpr FieldForm kJson = {.place = FieldPlace::kJson};
  visit("partial", r.interrupted, "interrupted: only finished networks are there", kJson);
  visit("planned_runs", static_cast<Index>(r.planned), "networks of the sweep");
  visit("task", study.task.kind(), "kind of task", {.place = FieldPlace::kFile});
  visit("runs", r.runs, "one entry a network");
  visit("groups", groups, "final table: one row a setting, over seeds",
        {.json = "table", .optional = true});
  visit("seconds", r.seconds, "time of the computation", kJson);
  visit("threads", r.threads, "threads that were used", kJson);
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& study, const LatentsResult& r) {
  network_fields(visit, study, r, group_latents(r));
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& study, const EvaluateResult& r) {
  visit("evaluated_on", r.task,
        "[task] that the networks were evaluated on; comments say what differs between them");
  network_fields(visit, study, r, group_evaluations(r));
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& /*study*/, const PredictResult& r) {
  constexpr FieldForm kJson = {.place = FieldPlace::kJson};
  visit("predicted_from", r.predicted_from, "result that predicts");
  visit("inputs", r.inputs, "data set of the new inputs");
  visit("outputs", r.outputs, "number of outputs C");
  visit("partial", r.interrupted, "interrupted: only finished points are there", kJson);
  visit("points", r.points, "one entry a sweep point");
  visit("seconds", r.seconds, "time of the computation", kJson);
  visit("threads", r.threads, "threads that were used", kJson);
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& study, const NetworkPredictResult& r) {
  visit("predicted_from", r.predicted_from, "train result whose networks predict");
  visit("inputs", r.inputs, "data set or text of the new inputs");
  network_fields(visit, study, r, group_predictions(r));
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& study, const NetworkPruneResult& r) {
  network_fields(visit, study, r, r.groups);
}

template <class Visitor>
void result_fields(Visitor& visit, const Study& study, const RankResult& r) {
  constexpr FieldForm kJson = {.place = FieldPlace::kJson};
  visit("partial", r.interrupted, "interrupted: only finished networks are there", kJson);
  visit("planned_runs", static_cast<Index>(r.planned), "networks of the sweep");
  visit("task", study.task.kind(), "kind of task", {.place = FieldPlace::kFile});
  visit("runs", r.runs, "one entry a network, or the data set");
  visit("seconds", r.seconds, "time of the computation", kJson);
  visit("threads", r.threads, "threads that were used", kJson);
}

}  // namespace headway
