#pragma once

#include <limits>
#include <string>
#include <vector>

#include "headway/analysis/network_pruning.hpp"
#include "headway/analysis/rank_correlation.hpp"
#include "headway/core/types.hpp"

namespace headway::studies {

/// How a score of the heads agrees with what their removal costs the trained network.
struct RankCorrelation {
  double spearman = std::numeric_limits<double>::quiet_NaN();
  double kendall = std::numeric_limits<double>::quiet_NaN();
  double p_value = std::numeric_limits<double>::quiet_NaN();  ///< two-sided, of Spearman's rho
  analysis::Bootstrap bootstrap{};  ///< over the examples; says nothing of other training runs
};

/// One score of all heads, and the trained network pruned in its order. A head whose turn comes
/// when it is the last of its layer stays, so that the curves end with one head in each layer.
struct NetworkScore {
  std::string name;
  std::vector<double> score;  ///< of every head, layer 1 first
  RankCorrelation accuracy_drop, error_rise;
  analysis::QualityCurve rising;   ///< lowest score first
  analysis::QualityCurve falling;  ///< highest score first
};

/// How a trained network answers one set of examples, all heads in place.
struct NetworkSet {
  std::string name;
  Index examples = 0;
  analysis::Quality quality;
};

/// A trained network pruned head by head: what does not depend on the theory's width and
/// temperature.
struct NetworkPruning {
  bool rescaled = true;     ///< layers times sqrt(H_l / heads left)
  std::string measured_on;  ///< set of the drops and curves: "test", or "train" where there is none
  std::string greedy_on;    ///< set that the greedy order was searched on
  std::string sensitivity_on;  ///< set of the gradient sensitivity
  std::vector<NetworkSet> sets;
  MatrixXd order_parameter;                       ///< U_1 = V V^T / N_1 of its weights
  std::vector<analysis::Estimate> accuracy_drop;  ///< of each head removed alone; paired errors
  std::vector<analysis::Estimate> error_rise;     ///< of the mean squared error, likewise
  /// "weight_norm" |V_l^h|, "path_norm", "sensitivity" (each layer's divided by its norm),
  /// "own_score" (the theory's score, of the network's own U_1).
  std::vector<NetworkScore> baselines;
  analysis::QualityCurve greedy;
  std::vector<analysis::QualityCurve> random;
  /// Over the random orders, after each removal; the standard error is sd / sqrt(orders).
  std::vector<double> random_mean, random_sd, random_error;
};

}  // namespace headway::studies
