#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "headway/architecture.hpp"
#include "headway/observer.hpp"
#include "headway/path_kernels.hpp"
#include "headway/results/calibration_results.hpp"
#include "headway/sampling/options.hpp"
#include "headway/sampling/target.hpp"

/// Private to verbs: is a sampler right?
namespace headway {

/// What is calibrated.
struct CalibrationProblem {
  const model::Architecture& architecture;
  double temperature;  ///< of the labels that are drawn
  const theory::PathKernels& kernels;
  const MatrixXd& test_features;
  /// The target to be tested, with these labels.
  std::function<std::unique_ptr<sampling::Target>(const MatrixXd& labels)> target;
};

/// Draws `networks` networks and labels y = f + noise from the prior, runs one chain on each, and
/// ranks the network among its draws (eq. 85). If the sampler is right, ranks are uniform: those of
/// the squared residual, of U_a and U_1, of traces of further layers, and of some predictions.
/// Every chain is thinned to as many draws as nine chains of ten have effective ones. `options`: of
/// one chain; network k has the streams from point_stream(point, k). Nothing when interrupted.
/// Cost: `networks` chains.
std::optional<SampledCalibration> calibrate(const CalibrationProblem& problem,
                                            const sampling::SamplerOptions& options, int networks,
                                            std::size_t point, Observer& observer);

/// p-value of independent numbers between 0 and 1 that should be uniform: Neyman's smooth test with
/// the Legendre polynomials of degree 1 to 4, whose sum of squares is chi^2_4 (eq. 86).
double uniformity_p_value(const std::vector<double>& values);

}  // namespace headway
