#pragma once

#include <vector>

#include "headway/types.hpp"

namespace headway::posterior {

/// Log likelihoods of the replicas of one chain: draws x replicas, at inverse temperatures 1, ...,
/// 0 (sampling::LadderState).
struct TemperedDraws {
  std::vector<double> inverse_temperatures;
  MatrixXd log_likelihoods;
};

/// log int prior exp(log likelihood), in nats, estimated in two ways from the same draws.
struct TemperedEvidence {
  /// Bridge sampling between neighbours (eq. 47; Meng and Wong 1996): the sum of
  ///   log Z(beta_k) / Z(beta_{k+1}).
  double bridge = 0.0, bridge_error = 0.0;
  /// Thermodynamic integration of d log Z / d beta = <log likelihood> over beta. Between
  /// neighbours the integrand is the cubic that has their means m and variances v as values and
  /// slopes. With a the hotter one, and h the difference of their beta, its integral is
  ///   h (m_a + m_b) / 2 + h^2 (v_a - v_b) / 12.
  /// The error includes the change that third cumulants make.
  double integral = 0.0, integral_error = 0.0;
  /// Whether the chains differ by less than three times what their own errors explain. If not, they
  /// are too short.
  bool chains_agree = true;
  /// bridge less integral over its error, within chains: both are of the same draws, so what the
  /// chains differ by does not count.
  double disagreement = 0.0;
};

/// Mean over the chains. The Monte Carlo error is the larger of two. One is a jackknife over blocks
/// of each chain's draws. The other is the standard error of the mean of the chains: it sees what
/// changes more slowly than a chain is long. At least 4 draws a chain, else NaN.
TemperedEvidence tempered_evidence(const std::vector<TemperedDraws>& chains);

}  // namespace headway::posterior
