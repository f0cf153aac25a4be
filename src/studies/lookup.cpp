#include "headway/studies/lookup.hpp"

#include <fmt/format.h>

#include <cmath>

namespace headway::studies {

const SolvePoint* theory_at(const SolveResult& result, const std::vector<Index>& widths,
                            double temperature) {
  for (const SolvePoint& point : result.points) {
    if (point.widths == widths && point.temperature == temperature) return &point;
  }
  return nullptr;
}

double gaussian_process_accuracy(const SolveResult& result, double temperature) {
  for (const GaussianProcessPoint& point : result.gaussian_process) {
    if (point.temperature == temperature) return point.predictor.accuracy;
  }
  return kUndefined;
}

double effective_draws_per_second(const SamplePoint& point) {
  return point.sampling_seconds > 0.0 ? point.ess_bulk_min / point.sampling_seconds : kUndefined;
}

std::string sampling_fault(const SamplePoint& point) {
  if (point.draws == 0) return "no draws";
  bool finite = point.readout_order_parameter.mean.allFinite() &&
                point.predictor.mean.allFinite() && point.predictor.variance.allFinite();
  for (const SampledMatrix& layer : point.order_parameters) {
    finite = finite && layer.mean.allFinite();
  }
  if (!finite) return "means that are not finite";
  if (std::isnan(point.rhat_max)) {
    return fmt::format("R-hat is undefined: {} draws a chain are too few, or no chain moved",
                       point.draws);
  }
  if (point.rhat_max > kUsableRhat) {
    return fmt::format("R-hat {:.3f} > {}: the chains have not mixed", point.rhat_max, kUsableRhat);
  }
  return "";
}

}  // namespace headway::studies
