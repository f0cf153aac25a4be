#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/order_parameters.hpp"
#include "headway/results/attention_results.hpp"
#include "headway/results/theory_fields.hpp"
#include "headway/results/value_results.hpp"
#include "headway/solution.hpp"
#include "headway/types.hpp"

// Below each record, its list of fields (core/record.hpp): names in files and JSON, and meanings.
namespace headway {

using numerics::kUndefined;

/// How a predictor does on one further set of the data set.
struct SetReport {
  std::string name;
  double accuracy = kUndefined;
  double mean_squared_error = kUndefined;
};
template <class Visitor, RecordOf<SetReport> Record>
void fields(Visitor& visit, Record& r) {
  visit("name", r.name, "name of the set", {.layout = FieldLayout::kKey});
  visit("accuracy", r.accuracy, "accuracy on the set: share of the examples answered rightly");
  visit("mean_squared_error", r.mean_squared_error,
        "squared error of the mean predictor on the set, mean over examples and outputs");
}

/// What a Gaussian predictor says on the train and test examples (eqs. 16, 17 and 51). The
/// statistics are those of the test set.
struct PredictorReport : theory::PredictorStatistics {
  MatrixXd mean, variance;
  double train_accuracy = kUndefined;
  std::vector<SetReport> sets;  ///< in the data set's order
};
/// `arrays` begins the names of mean and variance. `trained` says where the training accuracy
/// appears.
template <class Visitor, RecordOf<PredictorReport> Record>
void fields(Visitor& visit, Record& r, const std::string& arrays = "",
            FieldPlace trained = FieldPlace::kEverywhere) {
  constexpr FieldForm kOld = {.optional = true};
  visit("train_accuracy", r.train_accuracy,
        "accuracy on the training set; NaN of the 1/N correction, which the test set alone has",
        {.place = trained, .optional = true});
  visit("accuracy", r.accuracy, "accuracy on the test set: share of the examples answered rightly",
        kOld);
  visit("test_mean_squared_error", r.mean_squared_error,
        "squared error of the mean predictor on the test set, mean over examples and outputs",
        kOld);
  visit("right_sign_probability", r.right_sign_probability,
        "probability of the right sign, Phi(y mean / sd), mean over the test set", kOld);
  visit("squared_bias", r.squared_bias, "(mean - y)^2, mean over the test set", kOld);
  visit("predictor_variance", r.predictor_variance,
        "variance of the predictor, mean over the test set", kOld);
  constexpr FieldForm kArray = {
      .place = FieldPlace::kFile, .layout = FieldLayout::kOutputs, .axes = "example output"};
  visit(arrays + "mean", r.mean, "mean of the predictor f on the test set, [P_test] or [P_test, C]",
        kArray);
  visit(arrays + "variance", r.variance, "variance of f on the test set, for each output", kArray);
  visit("sets", r.sets, "the further sets of the data set",
        {.layout = FieldLayout::kByName, .optional = true});
}

/// The 1/N-corrected means (eqs. 40 and 41). Of the prediction the report is kept.
struct CorrectedPoint : theory::FiniteWidthCorrection {
  PredictorReport predictor;
};
template <class Visitor, RecordOf<CorrectedPoint> Record>
void fields(Visitor& visit, Record& r) {
  visit("defined", r.defined, "whether the correction exists; if not, only the reason is there");
  visit("reason", r.reason, "why there is no correction: undefined, or skipped");
  if (!shows(visit, r.defined)) return;
  fields(visit, r.mean, "");
  fields(visit, r.deviation, "_sd");  // sqrt(Sigma_ii), posterior standard deviations
  visit("probe_error", r.probe_error,
        "if random probes stand for the Hessian: largest standard error of a mean, divided by that "
        "entry's standard deviation; else 0",
        {.optional = true});
  fields(visit, r.predictor, "predictor/");
}

/// One sweep point of `solve`.
struct SolvePoint {
  std::vector<Index> widths;
  double temperature = 0.0;
  std::string method = "saddle_point";
  theory::SaddlePointSummary summary;
  double action = kUndefined, energy = kUndefined, entropy = kUndefined;
  theory::OrderParameters order_parameters;
  PredictorReport predictor;
  double smallest_hessian_eigenvalue = kUndefined;
  double smallest_hessian_eigenvalue_error = kUndefined;
  theory::SaddleEvidence evidence;  ///< undefined unless converged
  std::string kernels;
  double start_spread = kUndefined;
  std::string other_minima;  ///< what the extra starts found, for a warning; not kept in files
  std::string lost_digits;   ///< what rounding did to the predictor, likewise
  CorrectedPoint corrected;
  double seconds = 0.0;
  std::vector<AttentionMinimum> minima;   ///< of learned attention; the rest describes the first
  std::optional<FeatureReport> features;  ///< of a value network
  Tensor first_layer_draws;  ///< of U_1, [chain, draw, n, n], where a result of sample lends them
  std::string draws_fault;   ///< why a result of sample has no draws to lend; not kept in files
};
template <class Visitor, RecordOf<SolvePoint> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldForm kOld = {.optional = true};
  visit("widths", r.widths, "widths N_1, ..., N_L, N_a",
        {.layout = FieldLayout::kAttribute, .least = 1});
  visit("temperature", r.temperature, "temperature T");
  visit("method", r.method, "how the point was computed: \"saddle_point\"");
  fields(visit, r.summary);
  visit("action", r.action, "action S / max(N_1, ..., N_L, N_a)",
        {.old_name = "action_over_max_width"});
  visit("energy", r.energy, "energy term of the action S", kOld);
  visit("entropy", r.entropy, "entropy term of the action S", kOld);
  fields(visit, r.order_parameters, "");
  fields(visit, r.predictor, "predictor/");
  visit(
      "smallest_hessian_eigenvalue", r.smallest_hessian_eigenvalue,
      "smallest Hessian eigenvalue of S / max N in the independent entries of all U; positive at a "
      "minimum",
      kOld);
  visit("smallest_hessian_eigenvalue_error", r.smallest_hessian_eigenvalue_error,
        "an eigenvalue lies within this of the number above; 0 if the Hessian was computed and "
        "rounding leaves its digits",
        kOld);
  visit("log_evidence_error", r.evidence.error,
        "0 if the Hessian was computed, else a rough standard error of log_evidence from 16 random "
        "probes",
        kOld);
  visit(
      "log_evidence", r.evidence.log_evidence,
      "log p(y) in nats, by Laplace's method if the Hessian is known and positive, else to leading "
      "order; undefined unless converged",
      kOld);
  visit("log_evidence_leading_order", r.evidence.leading_order, "log p(y) to leading order in 1/N",
        kOld);
  visit("evidence_method", r.evidence.method,
        "method of log_evidence: \"laplace\", \"leading_order\", or \"\" if there is none", kOld);
  visit("kernels", r.kernels,
        "form of the kernels: \"stored\", \"streamed\", \"feature_space\", \"gram\" or "
        "\"distributed\"");
  visit("start_spread", r.start_spread, "largest relative difference in U between the extra starts",
        kOld);
  visit("corrected", r.corrected, "the 1/N-corrected means", kOld);
  fields_of_minima(visit, r.minima);
  fields_of_features(visit, r.features);
  visit("seconds", r.seconds, "time of the point");
}

/// A solve adds nothing to its points.
template <class Visitor>
void added_fields(Visitor& /*visit*/, const SolvePoint& /*none*/) {}

/// The infinite-width limit at one temperature.
struct GaussianProcessPoint {
  double temperature = 0.0;
  PredictorReport predictor;
  double log_evidence = kUndefined;
};
template <class Visitor, RecordOf<GaussianProcessPoint> Record>
void fields(Visitor& visit, Record& r) {
  visit("temperature", r.temperature, "temperature T");
  fields(visit, r.predictor, "");
  visit("log_evidence", r.log_evidence, "log p(y) of the Gaussian process in nats",
        {.optional = true});
}

/// What `solve` returns: the data's sizes and labels, and a point for each width and temperature.
struct SolveResult {
  static constexpr const char* kVerb = "solve";
  std::vector<int> heads;
  bool joined_heads = false;  ///< value network after attention: U_1 is of all heads together
  std::vector<double> variances;
  Index outputs = 1;
  Index train_examples = 0, test_examples = 0, features = 0;
  MatrixXd train_labels, test_labels;
  std::vector<std::string> set_names;
  std::vector<Index> set_examples;
  std::vector<std::vector<std::string>> head_names;
  std::vector<MatrixXd> path_kernels;
  std::vector<SolvePoint> points;
  std::vector<GaussianProcessPoint> gaussian_process;
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
};
/// Without the points and limits: a result of `sample` has them elsewhere.
template <class Visitor, RecordOf<SolveResult> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldPlace kFile = FieldPlace::kFile;
  visit("heads", r.heads, "heads of each layer, H_1, ..., H_L",
        {.json = "heads_per_layer", .layout = FieldLayout::kAttribute, .least = 1});
  visit("joined_heads", r.joined_heads,
        "1: the readout sees all heads together (value network after attention), and U_1 is C x C",
        {.place = kFile, .optional = true});
  visit("variances", r.variances, "prior variances s_0^2, s_1^2, ..., s_L^2, s_a^2",
        {.layout = FieldLayout::kAttribute, .optional = true});
  visit("outputs", r.outputs, "number of outputs C", {.least = 1});
  visit("train_examples", r.train_examples, "training examples P", {.least = 0});
  visit("test_examples", r.test_examples, "test examples P_test", {.least = 0});
  visit("features", r.features, "features N_0 of a token", {.least = 0});
  visit("sets", r.set_names, "names of the data set's further sets",
        {.place = kFile, .optional = true});
  visit("sets/examples", r.set_examples, "examples of each further set",
        {.place = kFile, .layout = FieldLayout::kAttribute, .optional = true, .least = 1});
  visit("names", r.head_names, "names of the heads; \"head 1\", ... if the data set has none",
        {.place = kFile, .layout = FieldLayout::kLayers});
  visit("labels/train", r.train_labels, "labels y of the training set, [P] or [P, C]",
        {.place = kFile, .layout = FieldLayout::kOutputs, .axes = "train_example output"});
  visit("labels/test", r.test_labels, "labels y of the test set",
        {.place = kFile, .layout = FieldLayout::kOutputs, .axes = "example output"});
  visit("path_kernels", r.path_kernels,
        "same-path kernels C_{pi pi}, [p, P, P], for figures; only up to 16 paths and P = 1000",
        {.place = kFile,
         .layout = FieldLayout::kStacked,
         .axes = "path train_example train_example_other"});
}

/// Kernel alignment at one sweep point (eq. 52): |v_k . y| / |y| by falling eigenvalue
/// of K (without T).
struct AlignPoint {
  std::vector<Index> widths;
  double temperature = 0.0;
  VectorXd overlaps, gaussian_process_overlaps;
  VectorXd cumulative, gaussian_process_cumulative;
  VectorXd eigenvalues, gaussian_process_eigenvalues;
  double seconds = 0.0;
};
template <class Visitor, RecordOf<AlignPoint> Record>
void fields(Visitor& visit, Record& r) {
  constexpr std::string_view kAxes = "component";
  visit("seconds", r.seconds, "time of the alignment", {.place = FieldPlace::kFile});
  visit("overlaps", r.overlaps,
        "|v_k . y| / |y| of the eigenvectors of K (without T), largest eigenvalue first, "
        "shared by equal eigenvalues; undefined beyond the rank of K",
        {.axes = kAxes});
  visit("gaussian_process_overlaps", r.gaussian_process_overlaps,
        "overlaps of the Gaussian process", {.axes = kAxes});
  visit("cumulative", r.cumulative, "running sums of the squared overlaps",
        {.json = "cumulative_overlaps", .axes = kAxes});
  visit("gaussian_process_cumulative", r.gaussian_process_cumulative,
        "running sums of the Gaussian process",
        {.json = "gaussian_process_cumulative_overlaps", .axes = kAxes});
  visit("eigenvalues", r.eigenvalues, "eigenvalues of K, largest first", {.axes = kAxes});
  visit("gaussian_process_eigenvalues", r.gaussian_process_eigenvalues,
        "eigenvalues of the Gaussian process", {.axes = kAxes});
}

/// What align adds to the group points/<i> and to JSON.
template <class Visitor>
void added_fields(Visitor& visit, const AlignPoint& r) {
  visit("alignment", r, "kernel alignment", {.layout = FieldLayout::kMerged});
}

/// What `align` returns: alignments, in the order of the study's points.
struct AlignResult {
  static constexpr const char* kVerb = "align";
  SolveResult solve;  ///< the order parameters used
  std::vector<AlignPoint> points;
  double seconds = 0.0;
};

}  // namespace headway
