#pragma once

#include <vector>

#include "headway/sampling/checkpoint.hpp"

namespace headway::sampling {

/// Which warm-up transitions (counted from 0) feed the mass matrix, and after which of them it is
/// replaced. This is Stan's scheme: 75 to find the typical set, windows of 25, 50, 100, ..., and 50
/// for the last step size. A shorter warm-up is split 15 % / 75 % / 10 %. Below 20 transitions only
/// the step size is adapted.
struct WarmupSchedule {
  int first = 0;  ///< positions after transitions first <= t < last are collected
  int last = 0;
  std::vector<int> window_ends;  ///< a window closes after transition t
};
WarmupSchedule warmup_schedule(int warmup);

/// The same for MetricKind::kInformation. An information matrix is useful wherever it is taken, so
/// there is no initial buffer. Windows have 4, 8, 16, ... transitions from the first on. At most 50
/// transitions (a quarter of a short warm-up) are left for the last step size.
struct InformationSchedule {
  std::vector<int> probes;       ///< the information is taken after transition t
  std::vector<int> window_ends;  ///< a window closes after transition t
};
InformationSchedule information_schedule(int warmup);

/// Starts dual averaging anew around `step_size`.
void restart(DualAveragingState& state, double step_size);
/// One update with the acceptance just seen; returns the next step size (Hoffman and Gelman 2014,
/// equation 6, gamma = 0.05, t0 = 10, kappa = 0.75).
double update(DualAveragingState& state, double acceptance, double target);
/// The step size to keep: exp of the weighted mean of the log steps.
double averaged_step(const DualAveragingState& state);

/// Empties the window; `dense` collects the whole covariance.
void reset(CovarianceState& state, Index dimension, bool dense);
/// Adds one position (Welford). O(d) or O(d^2).
void add(CovarianceState& state, const VectorXd& position);
/// Covariance of the window shrunk towards the identity as Stan does: (n C + 5e-3 I) / (n + 5). If
/// there are fewer than 5 d draws, covariances are then multiplied by n / (n + d), which shrinks
/// the matrix towards its diagonal. n >= 2.
MatrixXd regularised_covariance(const CovarianceState& state);

/// Adds one information matrix, unless it is not finite.
void add_information(CovarianceState& state, const MatrixXd& information);
/// Inverse of the mean information, count >= 1; empty when that is not positive definite.
MatrixXd inverse_information(const CovarianceState& state);

}  // namespace headway::sampling
