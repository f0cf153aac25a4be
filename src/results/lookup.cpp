#include "headway/results/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/text.hpp"
#include "headway/dataset.hpp"
#include "headway/model/path_index.hpp"

namespace headway {
namespace {

constexpr double kMostNamedPaths = 1e6;

std::string count_fault(const std::string& where, std::size_t found, std::size_t wanted) {
  if (found == wanted) return {};
  return fmt::format("{}: has {} entries; allowed: {}", where, found, wanted);
}

std::string shape_fault(const char* where, const MatrixXd& labels, Index rows, Index columns) {
  if (labels.rows() == 0 || (labels.rows() == rows && labels.cols() == columns)) return {};
  return fmt::format("{}: has shape [{}, {}]; allowed: [{}, {}]", where, labels.rows(),
                     labels.cols(), rows, columns);
}

}  // namespace

std::string solve_fault(const SolveResult& result) {
  if (result.heads.empty() || model::path_count<double>(result.heads) > kMostNamedPaths) {
    return "root attribute heads: makes more than 10^6 paths, or is empty; allowed: 1 to 10^6 "
           "paths";
  }
  std::vector<std::string> faults;
  for (std::size_t l = 0; l < std::min(result.heads.size(), result.head_names.size()); ++l) {
    const std::size_t names = result.head_names[l].size();
    if (names == 0) continue;
    faults.push_back(count_fault(fmt::format("names/layer_{}", l + 1), names,
                                 static_cast<std::size_t>(result.heads[l])));
  }
  for (const std::string& name : result.set_names) {
    const std::string fault = tasks::set_name_fault(name);
    if (fault.empty()) continue;
    faults.push_back(fmt::format("sets: \"{}\" is {}", printable(clip(name, 64)), fault));
  }
  faults.push_back(
      count_fault("sets, attribute examples", result.set_examples.size(), result.set_names.size()));
  if (result.train_labels.size() != 0) {  // Gram matrices have none
    faults.push_back(
        shape_fault("labels/train", result.train_labels, result.train_examples, result.outputs));
  }
  faults.push_back(
      shape_fault("labels/test", result.test_labels, result.test_examples, result.outputs));
  for (const MatrixXd& kernel : result.path_kernels) {
    if (kernel.rows() != kernel.cols()) {
      faults.emplace_back("path_kernels: its matrices are not square; allowed: shape [p, P, P]");
    }
  }
  const auto first = std::find_if(faults.begin(), faults.end(),
                                  [](const std::string& fault) { return !fault.empty(); });
  return first == faults.end() ? "" : *first;
}

const SolvePoint* theory_at(const SolveResult& result, const std::vector<Index>& widths,
                            double temperature) {
  for (const SolvePoint& point : result.points) {
    if (point.widths == widths && point.temperature == temperature) return &point;
  }
  return nullptr;
}

const GaussianProcessPoint* gaussian_process_at(const SolveResult& result, double temperature) {
  for (const GaussianProcessPoint& point : result.gaussian_process) {
    if (point.temperature == temperature) return &point;
  }
  return nullptr;
}

double gaussian_process_accuracy(const SolveResult& result, double temperature) {
  const GaussianProcessPoint* point = gaussian_process_at(result, temperature);
  return point != nullptr ? point->predictor.accuracy : kUndefined;
}

double effective_draws_per_second(const SamplePoint& point) {
  return point.sampling_seconds > 0.0 ? point.ess_bulk_min / point.sampling_seconds : kUndefined;
}

std::string sampling_fault(const SamplePoint& point) {
  if (point.draws == 0) return "a chain has no draws";
  bool finite = point.readout_order_parameter.mean.allFinite() &&
                point.predictor.mean.allFinite() && point.predictor.variance.allFinite();
  for (const SampledMatrix& layer : point.order_parameters) {
    finite = finite && layer.mean.allFinite();
  }
  if (!finite) return "the means are not finite";
  if (std::isnan(point.rhat_max)) {
    return fmt::format("R-hat is undefined: {} a chain {} too few, or no chain moved",
                       count_text(point.draws, "draw"), point.draws == 1 ? "is" : "are");
  }
  if (point.rhat_max > kUsableRhat) {
    return fmt::format("R-hat {} > {}: the chains have not mixed",
                       short_number_text(point.rhat_max), kUsableRhat);
  }
  if (point.calibration && !(point.calibration->p_value >= kUncalibrated)) {
    return fmt::format(
        "calibration: ranks are not uniform (p = {:.2g}): the sampler is wrong, or "
        "its chains are too short",
        point.calibration->p_value);
  }
  return "";
}

SolveResult theory_with_draws(const SampleResult& sampled) {
  SolveResult result = sampled.solve;
  for (std::size_t i = 0; i < std::min(result.points.size(), sampled.points.size()); ++i) {
    const SamplePoint& drawn = sampled.points[i];
    SolvePoint& point = result.points[i];
    point.draws_fault = sampling_fault(drawn);
    if (point.draws_fault.empty() && !drawn.order_parameters.empty()) {
      point.first_layer_draws = drawn.order_parameters.front().draws;
    }
  }
  return result;
}

}  // namespace headway
