#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/numerics/statistics.hpp"
#include "headway/results/lookup.hpp"
#include "headway/results/table.hpp"
#include "result_tables.hpp"
#include "result_text.hpp"

namespace headway::cli {

namespace {

std::string sampled_readout_text(const SampledMatrix& readout) {
  return readout.mean.size() == 1 ? measured_text(readout.mean(0, 0), readout.mcse(0, 0))
                                  : measured_diagonal(readout.mean, readout.mcse);
}

/// With its Monte Carlo error, where that is known.
std::string sampled_text(const Measure& measure, const SamplePoint& point) {
  return measure.accuracy() ? measured_text(point.predictor.accuracy, point.accuracy_mcse, "{:.4f}")
                            : measured_text(point.predictor.mean_squared_error,
                                            point.mean_squared_error_mcse, "{:.4g}");
}

/// One row a point: is the run good, and what does it say? What marks rows stands below.
std::string runs_table(const SampleResult& result) {
  constexpr std::size_t kAfterAccuracies = 7;
  const SetColumns sets(result.solve);
  const Measure measure(result.solve);
  Table table(
      sets.header({"widths", "T", "sampler<", measure.name(), "theory", "1/N", "GP", "R-hat",
                   "ESS bulk", "tail", "ESS/s", "divergent", "log evidence", "seconds", ""},
                  kAfterAccuracies));
  bool unusable = false;
  bool partial = false;
  for (const SamplePoint& point : result.points) {
    const SolvePoint* theory = headway::theory_at(result.solve, point.widths, point.temperature);
    const bool fault = !headway::sampling_fault(point).empty();
    unusable = unusable || fault;
    partial = partial || !point.complete;
    const bool corrected = theory != nullptr && theory->corrected.defined;
    table.add(sets.row(
        {widths_text(point.widths), cell(point.temperature, "{:g}"),
         point.sampler + (point.biased ? " (biased)" : ""), sampled_text(measure, point),
         theory != nullptr ? measure.text(theory->predictor) : "-",
         corrected ? measure.text(theory->corrected.predictor) : "-",
         measure.limit_text(result.solve, point.temperature), cell(point.rhat_max, "{:.4f}"),
         cell(point.ess_bulk_min, "{:.0f}"), cell(point.ess_tail_min, "{:.0f}"),
         cell(headway::effective_draws_per_second(point), "{:.3g}"),
         std::to_string(point.divergences),
         measured_text(point.log_evidence, point.log_evidence_error, "{:.3f}"),
         seconds_cell(point.seconds), std::string(fault ? "*" : "") + (point.complete ? "" : "+")},
        kAfterAccuracies, point.predictor));
  }
  return table.text() + (unusable ? "* not usable\n" : "") +
         (partial ? "+ interrupted, not all draws were made\n" : "");
}

/// One row a point; empty where attention is given.
std::string attention_table(const SampleResult& result) {
  Table table({"widths", "T", "entropy", "largest", "bridge", "integral", "exchanges"});
  for (const SamplePoint& point : result.points) {
    if (!point.attention) continue;
    const SampledAttention& a = *point.attention;
    table.add({widths_text(point.widths), cell(point.temperature, "{:g}"),
               measured_text(a.entropy_mean, a.entropy_mcse),
               measured_text(a.largest_mean, a.largest_mcse),
               measured_text(point.log_evidence, point.log_evidence_error, "{:.3f}"),
               measured_text(a.integral_log_evidence, a.integral_log_evidence_error, "{:.3f}"),
               cell(a.exchange_rate, "{:.2f}")});
  }
  if (table.empty()) return "";
  return wrapped(
             "\nlearned attention of the last layer where the readout takes it, and log evidence "
             "in "
             "two ways. R-hat and ESS are of functions that do not depend on the order of heads. "
             "The theory is that of U given the attention of the lowest minimum.\n") +
         table.text();
}

/// One row a statistic of each point that was calibrated.
std::string calibration_table(const SampleResult& result) {
  std::string out;
  for (const SamplePoint& point : result.points) {
    if (!point.calibration) continue;
    const SampledCalibration& c = *point.calibration;
    Table table({"statistic<", "mean rank", "p"});
    for (Index k = 0; k < c.p_values.size(); ++k) {
      const double mean = (c.ranks.col(k).mean() + 0.5) / static_cast<double>(c.draws + 1);
      table.add({c.statistics[static_cast<std::size_t>(k)], cell(mean, "{:.3f}"),
                 cell(c.p_values[k], "{:.2g}")});
    }
    out += wrapped(fmt::format(
               "\ncalibration at widths {}, T = {:g}: ranks of {} networks from the "
               "prior among {} draws each. All ranks uniform: p = {:.2g}\n",
               widths_text(point.widths), point.temperature, c.ranks.rows(), c.draws, c.p_value)) +
           table.text();
  }
  return out;
}

/// Two rows a point: the samples, and the theory; empty where values are linear.
std::string sampled_features_table(const SampleResult& result) {
  static constexpr Index kMost = 4;
  const auto text = [](const VectorXd& values) {
    const VectorXd largest = values.head(std::min(kMost, values.size()));
    return decimals_text(numerics::listed(largest)) + (values.size() > kMost ? " ..." : "");
  };
  Table table({"widths", "T", "<", "S eigenvalues<", "integral", "exchanges"}, 3);
  for (const SamplePoint& point : result.points) {
    if (!point.features) continue;
    const SampledFeatures& f = *point.features;
    table.add({widths_text(point.widths), cell(point.temperature, "{:g}"), "samples",
               text(f.eigenvalues),
               measured_text(f.integral_log_evidence, f.integral_log_evidence_error, "{:.3f}"),
               cell(f.exchange_rate, "{:.2f}")});
    const SolvePoint* theory = headway::theory_at(result.solve, point.widths, point.temperature);
    if (theory == nullptr || !theory->features) continue;
    table.add({"", "", "saddle point", text(theory->features->eigenvalues), "", ""});
  }
  return table.empty() ? ""
                       : "\ncovariance S of the hidden weights, mean of the draws\n" + table.text();
}

/// Three rows a point: the samples, the saddle point, the 1/N-corrected means.
std::string order_parameters_table(const SampleResult& result) {
  Table table({"widths", "T", "<", "U_a", "U_1 diagonal<"}, 3);
  for (const SamplePoint& point : result.points) {
    if (point.order_parameters.empty()) continue;
    table.add({widths_text(point.widths), cell(point.temperature, "{:g}"), "samples",
               sampled_readout_text(point.readout_order_parameter),
               measured_diagonal(point.order_parameters.front().mean,
                                 point.order_parameters.front().mcse)});
    const SolvePoint* theory = headway::theory_at(result.solve, point.widths, point.temperature);
    if (theory == nullptr) continue;
    table.add({"", "", theory->summary.converged ? "saddle point" : "saddle point, not converged",
               readout_text(theory->order_parameters.readout),
               first_layer_text(theory->order_parameters)});
    if (!theory->corrected.defined) continue;
    table.add({"", "", "1/N-corrected", readout_text(theory->corrected.mean.readout),
               first_layer_text(theory->corrected.mean)});
  }
  return table.text();
}

/// Why points have no log evidence, each reason once.
std::string evidence_reasons(const SampleResult& result) {
  std::vector<std::string> reasons;
  for (const SamplePoint& point : result.points) {
    const std::string& reason = point.evidence_reason;
    if (!reason.empty() && std::ranges::find(reasons, reason) == reasons.end()) {
      reasons.push_back(reason);
    }
  }
  std::string out;
  for (const std::string& reason : reasons) out += wrapped("no log evidence: " + reason + "\n");
  return out;
}

}  // namespace

std::string sample_table(const Study& study, const SampleResult& result) {
  std::string out =
      study_header(study, result.solve) + runs_table(result) + evidence_reasons(result);
  out += wrapped("\nposterior means +- Monte Carlo standard errors, beside the theory\n");
  return out + order_parameters_table(result) + sampled_features_table(result) +
         calibration_table(result) + attention_table(result);
}

}  // namespace headway::cli
