#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "headway/architecture.hpp"
#include "headway/observer.hpp"
#include "headway/results/calibration_results.hpp"
#include "headway/sampling/options.hpp"
#include "headway/sampling/target.hpp"
#include "verbs/theory/prior_networks.hpp"

/// Private to verbs: is a sampler right?
namespace headway {

/// What is sampled beside order parameters, and so ranked.
enum class SampledNetwork { kLinear, kHiddenWeights, kLearnedAttention };

/// What is calibrated.
struct CalibrationProblem {
  const model::Architecture& architecture;
  SampledNetwork kind;
  double temperature;   ///< of the labels that are drawn
  Index test_examples;  ///< that predictions are ranked on, those of PriorNetwork::test
  DrawNetwork network;
  /// The target to be tested, with these labels.
  std::function<std::unique_ptr<sampling::Target>(const MatrixXd& labels)> target;
};

/// How many networks, and what is kept between calls.
struct CalibrationRun {
  int networks = 0;
  std::size_t point = 0;  ///< of the sweep
  /// Rows of the networks that are done, in and out. Empty at first.
  MatrixXd* done = nullptr;
  /// Called every SamplerOptions::checkpoint_seconds, and when interrupted; may be empty.
  std::function<void()> save = {};
};

/// Draws networks and labels y = f + noise from the prior, runs one chain on each, and ranks the
/// network among its draws (eq. 85). If the sampler is right, ranks are uniform: those of the
/// squared residual, of U_a and U_1, of traces of further layers, of some predictions, and of what
/// else the network has. Heads that learn their attention are exchangeable, so that of their U_1
/// the trace alone is ranked. Every chain is thinned to as many draws as nine chains of ten have
/// effective ones. `options`: of one chain, which starts from the prior; each network has streams
/// of its own. Nothing when interrupted, which ends a chain after its transition.
/// Cost: a chain for each network.
std::optional<SampledCalibration> calibrate(const CalibrationProblem& problem,
                                            const sampling::SamplerOptions& options,
                                            const CalibrationRun& run, Observer& observer);

/// p-value of independent numbers between 0 and 1 that should be uniform: Neyman's smooth test with
/// the Legendre polynomials of degree 1 to 4, whose sum of squares is chi^2_4 (eq. 86).
double uniformity_p_value(const std::vector<double>& values);

}  // namespace headway
