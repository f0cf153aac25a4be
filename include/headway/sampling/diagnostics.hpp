#pragma once

#include <span>

#include "headway/sampling/checkpoint.hpp"
#include "headway/types.hpp"

namespace headway::sampling {

// Convergence diagnostics of one scalar quantity. `draws` holds one draw a row and one chain a
// column (n x m, warm-up left out), in the order they were drawn. Everything follows
//   [V21] Vehtari, Gelman, Simpson, Carpenter, Buerkner, "Rank-normalization, folding, and
//         localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16
//         (2021) 667,
// and agrees with its authors' packages. Chains are always split into halves first (for odd n the
// middle draw is left out). NaN is returned where a value is not defined: fewer than 4 draws a
// chain, an entry that is not finite, all draws equal. Nothing here throws.

/// Split R-hat, sqrt(var_plus / W) of [V21] equations 1-4, of the rank-normalised draws z =
/// Phi^-1((rank - 3/8) / (n m + 1/4)), equation 14. 1 at convergence. It sees location differences
/// between chains, also where the mean does not exist. O(n m log(n m)).
double bulk_rhat(const Eigen::Ref<const MatrixXd>& draws);

/// The same for |draw - median|, [V21] section 4: differences in scale. O(n m log(n m)).
double folded_rhat(const Eigen::Ref<const MatrixXd>& draws);

/// The larger of bulk_rhat and folded_rhat: the number to report. Below 1.01 is the aim.
double rank_normalized_rhat(const Eigen::Ref<const MatrixXd>& draws);

/// Effective sample size of the mean of the draws: n m / tau with tau = -1 + 2 sum_t rho_t over
/// Geyer's initial monotone sequence of the multi-chain autocorrelations, [V21] equations 10-13; at
/// most n m log10(n m). O(n m times the number of lags used), at worst O(n^2 m).
double ess_mean(const Eigen::Ref<const MatrixXd>& draws);

/// ess_mean of the rank-normalised draws: efficiency in the bulk of the distribution, [V21]
/// section 4.
double ess_bulk(const Eigen::Ref<const MatrixXd>& draws);

/// ess_mean of the indicator draw <= q, q the `probability` quantile (0 < probability < 1) of all
/// draws.
double ess_quantile(const Eigen::Ref<const MatrixXd>& draws, double probability);

/// The smaller of ess_quantile at 5 and 95 per cent (of the defined ones).
double ess_tail(const Eigen::Ref<const MatrixXd>& draws);

/// Quantile of all draws, linear between order statistics (R's type 7). NaN for no draws or a NaN
/// among them.
double quantile(const Eigen::Ref<const MatrixXd>& draws, double probability);

/// Monte Carlo standard error of the mean: sd / sqrt(ess_mean).
double mcse_mean(const Eigen::Ref<const MatrixXd>& draws);

/// E-BFMI of one chain: sum (E_i - E_{i-1})^2 / sum (E_i - mean E)^2 of the energies E after each
/// transition (Betancourt, "Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte
/// Carlo", 2016). Below 0.3 the momentum resampling explores the energies too slowly. NaN for fewer
/// than 4 draws or equal energies.
double energy_bfmi(std::span<const double> energies);

/// The same of energies that were added one by one.
void add(EnergySums& sum, double energy);
double bfmi_of_sums(const EnergySums& sum);

/// What is reported of one quantity. Starts as NaN: nothing was computed.
struct QuantityDiagnostics {
  double mean;
  double sd;  ///< over all chains and draws, n m - 1 in the denominator
  double mcse_mean;
  double rhat;  ///< rank_normalized_rhat
  double ess_bulk, ess_tail;
  bool constant;    ///< every draw is the same number: rhat and the rest are undefined, not bad
  bool not_finite;  ///< some draw is NaN or infinite
  QuantityDiagnostics();
};

/// Diagnoses one quantity (n x m draws).
QuantityDiagnostics diagnose_quantity(const Eigen::Ref<const MatrixXd>& draws);

}  // namespace headway::sampling
