#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "headway/results/calibration_results.hpp"
#include "headway/theory_results.hpp"

namespace headway {

inline constexpr double kGoodRhat = 1.01;       ///< above: a warning
inline constexpr double kUsableRhat = 1.05;     ///< above: the result is not usable
inline constexpr double kUncalibrated = 0.001;  ///< p-value of ranks below which it is not, either

/// Posterior of one matrix, entry by entry.
struct SampledMatrix {
  MatrixXd mean, sd, mcse, rhat, ess_bulk, ess_tail;
  Tensor draws;  ///< [chain, draw, n, n]
};
/// `name` and `json`: what the names in the file and in JSON begin with; `draws` is that of the
/// draws.
template <class Visitor, RecordOf<SampledMatrix> Record>
void fields(Visitor& visit, Record& r, const std::string& name, const std::string& json,
            const std::string& draws) {
  const bool readout = json == "U_a";
  const FieldForm in_json = {.layout = readout ? FieldLayout::kReadout : FieldLayout::kPlain,
                             .axes = readout ? "output output_other" : "path path_other"};
  FieldForm in_file = in_json;
  in_file.place = FieldPlace::kFile;
  FieldForm of_draws = in_file;
  of_draws.axes = readout ? "chain draw output output_other" : "chain draw path path_other";
  const auto shown = [&](const std::string& part, auto& value, const char* meaning) {
    const std::string name_in_json = json + part;
    FieldForm form = in_json;
    form.json = name_in_json;
    visit(name + part, value, meaning, form);
  };
  shown("_mean", r.mean, "posterior mean");
  shown("_mcse", r.mcse, "Monte Carlo standard error of the mean");
  shown("_sd", r.sd, "posterior standard deviation");
  visit(name + "_rhat", r.rhat, "R-hat of each entry", in_file);
  visit(name + "_ess_bulk", r.ess_bulk, "bulk effective sample size of each entry", in_file);
  visit(name + "_ess_tail", r.ess_tail, "tail effective sample size of each entry", in_file);
  visit(draws, r.draws, "the draws, [chain, draw, n, n]; [chain, draw] for U_a of one output",
        of_draws);
}

/// One sweep point of `sample` (eqs. 34 and 50).
struct SamplePoint {
  std::vector<Index> widths;
  double temperature = 0.0;
  std::string sampler;
  int chains = 0;
  Index draws = 0;
  std::vector<SampledMatrix> order_parameters;  ///< U_1, ..., U_L
  SampledMatrix readout_order_parameter;        ///< U_a
  /// Posterior mean and variance (law of total variance) of f on the test set.
  PredictorReport predictor;
  MatrixXd predictor_mcse;
  double accuracy_mcse = kUndefined;
  double mean_squared_error_mcse = kUndefined;
  double accuracy_mean = kUndefined, accuracy_sd = kUndefined;
  double rhat_max = kUndefined, ess_bulk_min = kUndefined, ess_tail_min = kUndefined;
  double ebfmi_min = kUndefined;
  Index divergences = 0;
  double mean_acceptance = kUndefined, step_size = kUndefined;
  double log_evidence = kUndefined, log_evidence_error = kUndefined;
  std::string evidence_reason;
  bool biased = false;
  bool complete = false;
  MatrixXd energies;  ///< draws x chains
  std::vector<std::string> warnings;
  std::optional<SampledAttention> attention;      ///< learned attention alone
  std::optional<SampledFeatures> features;        ///< value networks alone
  std::optional<SampledCalibration> calibration;  ///< where it was asked for
  MatrixXd weights;                               ///< dimension x (draws chains) where asked for
  double sampling_seconds = 0.0;
  double seconds = 0.0;
};

/// ESS of the slowest entry of all U a second of sampling, warm-up included; kUndefined when either
/// is.
double effective_draws_per_second(const SamplePoint& point);

/// Written where attention was learned, and read where a file has it.
template <class Visitor, RecordOf<SamplePoint> Record>
void fields_of_attention(Visitor& visit, Record& r) {
  if constexpr (std::is_const_v<Record>) {
    if (!shows(visit, r.attention.has_value())) return;
    const SampledAttention none;
    fields(visit, r.attention ? *r.attention : none);
  } else {
    SampledAttention read;
    fields(visit, read);
    if (!std::isnan(read.largest_mean)) r.attention = std::move(read);
  }
}

template <class Visitor, RecordOf<SamplePoint> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldPlace kFile = FieldPlace::kFile;
  visit("widths", r.widths, "widths N_1, ..., N_L, N_a",
        {.layout = FieldLayout::kAttribute, .least = 1});
  visit("temperature", r.temperature, "temperature T");
  visit("sampler", r.sampler, "sampler, such as \"exact\"");
  visit("chains", r.chains, "number of chains");
  visit("draws", r.draws, "draws of each chain after warm-up");
  fields(visit, r.readout_order_parameter, "U_a", "U_a", "draws/U_a");
  for (std::size_t l = 0; l < r.order_parameters.size(); ++l) {
    const std::string layer = std::to_string(l + 1);
    fields(visit, r.order_parameters[l], "order_parameters/layer_" + layer, "U_" + layer,
           "draws/layer_" + layer);
  }
  fields(visit, r.predictor, "predictor/", kFile);  // samples are compared on the test set alone
  visit("predictor/mcse", r.predictor_mcse,
        "Monte Carlo standard error of predictor/mean, from the spread of the chains' means: "
        "chains - 1 degrees of freedom; not finite with one chain",
        {.place = kFile, .layout = FieldLayout::kOutputs, .axes = "example output"});
  visit("accuracy_mcse", r.accuracy_mcse,
        "Monte Carlo error of accuracy: how far it moves with the predictor's");
  visit("test_mean_squared_error_mcse", r.mean_squared_error_mcse,
        "Monte Carlo error of test_mean_squared_error, likewise", {.optional = true});
  visit("accuracy_mean", r.accuracy_mean,
        "mean over draws of the accuracy of a single draw's predictor");
  visit("accuracy_sd", r.accuracy_sd, "standard deviation of that accuracy over draws");
  visit("rhat_max", r.rhat_max, "largest R-hat of all entries of all U");
  visit("ess_bulk_min", r.ess_bulk_min,
        "smallest bulk effective sample size of all entries of all U");
  visit("ess_tail_min", r.ess_tail_min,
        "smallest tail effective sample size of all entries of all U");
  const double rate = effective_draws_per_second(r);
  visit("ess_bulk_min_per_second", rate, "ess_bulk_min / sampling_seconds",
        {.place = FieldPlace::kJson});
  visit("ebfmi_min", r.ebfmi_min, "smallest E-BFMI of the chains");
  visit("divergences", r.divergences, "divergent transitions of all chains");
  visit("mean_acceptance", r.mean_acceptance, "mean Metropolis acceptance probability");
  visit("step_size", r.step_size, "step size of the integrator");
  visit("log_evidence", r.log_evidence, "log p(y) in nats");
  visit("log_evidence_error", r.log_evidence_error, "standard error of log_evidence");
  visit("evidence_reason", r.evidence_reason, "why there is no log_evidence");
  visit("biased", r.biased, "1: the draws are biased (unadjusted Langevin)");
  visit("complete", r.complete, "whether all draws were made");
  visit("warnings", r.warnings, "warnings, one a line", {.layout = FieldLayout::kAttribute});
  visit("energies", r.energies, "log density of each draw, [draw, chain]",
        {.place = kFile, .axes = "draw chain"});
  fields_of_attention(visit, r);
  fields_of_calibration(visit, r.calibration);
  fields_of_features(visit, r.features);
  visit("sampling_seconds", r.sampling_seconds, "time of the chains alone, warm-up included");
  visit("seconds", r.seconds, "time of the point");
}

/// What `sample` returns: posterior draws at each width and temperature, and the theory at the
/// same.
struct SampleResult {
  static constexpr const char* kVerb = "sample";
  SolveResult solve;  ///< the theory at the same points, for comparison
  std::vector<SamplePoint> points;
  bool interrupted = false;
  double seconds = 0.0;
};

}  // namespace headway
