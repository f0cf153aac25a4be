#include "jobs/outcomes.hpp"

#include <fmt/format.h>

#include <cmath>

#include "headway/core/text.hpp"
#include "headway/results/lookup.hpp"
#include "headway/results/table.hpp"

namespace headway::jobs {

namespace {

bool is_finite(const SolvePoint& point) {
  bool finite = std::isfinite(point.action) && std::isfinite(point.summary.gradient_norm) &&
                point.order_parameters.readout.allFinite() && point.predictor.mean.allFinite() &&
                point.predictor.variance.allFinite();
  for (const MatrixXd& layer : point.order_parameters.layers) finite = finite && layer.allFinite();
  return finite;
}

}  // namespace

Outcome solve_outcome(const SolveResult& result, double seconds) {
  return solve_outcome(result, seconds, result.points.size());
}

Outcome solve_outcome(const SolveResult& result, double seconds, std::size_t done) {
  Outcome outcome{count_text(done, "point"), result.interrupted, seconds, result.threads};
  std::vector<std::string>& faults = outcome.faults;
  for (const SolvePoint& point : result.points) {
    const std::string where =
        fmt::format("widths {}, temperature {:g}", widths_text(point.widths), point.temperature);
    if (!is_finite(point)) {
      faults.push_back(fmt::format("{}: not finite: {}", where, point.summary.message));
    } else if (!point.summary.converged) {
      faults.push_back(fmt::format(
          "{}: not converged (gradient norm {:.2g} after {} iterations): {}", where,
          point.summary.gradient_norm, point.summary.iterations, point.summary.message));
    }
  }
  return outcome;
}

Outcome sample_outcome(const SampleResult& result) {
  Outcome outcome{count_text(result.points.size(), "point"), result.interrupted, result.seconds,
                  result.solve.threads};
  for (const SamplePoint& point : result.points) {
    if (!point.complete) continue;  // its draws are too few since it was interrupted
    const std::string fault = headway::sampling_fault(point);
    if (fault.empty()) continue;
    outcome.faults.push_back(fmt::format("widths {}, temperature {:g}: not usable: {}",
                                         widths_text(point.widths), point.temperature, fault));
  }
  return outcome;
}

Outcome train_outcome(const TrainResult& result) {
  Outcome outcome{"", result.interrupted, result.seconds, result.threads};
  std::size_t done = 0;
  for (const TrainedRun& run : result.runs) {
    done += run.done() ? 1 : 0;
    const std::string fault = headway::training_fault(run);
    if (fault.empty()) continue;
    outcome.faults.push_back(
        fmt::format("{}, seed {}: not usable: {}", run.label, run.seed, fault));
  }
  outcome.done = fmt::format("{} of {} done", done, count_text(result.planned, "run"));
  return outcome;
}

Outcome gram_outcome(const GramResult& result) {
  return {count_text(result.examples(), "example"), false, result.seconds, result.threads};
}

}  // namespace headway::jobs
