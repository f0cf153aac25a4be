#pragma once

#include <vector>

#include "headway/observer.hpp"
#include "headway/saddle_point.hpp"

namespace headway::theory {

class ActionCurvature;
struct HessianProbes;
class RepeatedPredictor;

/// Smallest eigenvalue of the Hessian of S / max N in the independent entries of all U_l and U_a
/// jointly: positive at a minimum. NaN if the Hessian is not finite.
double smallest_hessian_eigenvalue(const Action& action, const MatrixXd& svec_hessian);

/// Flops of the correction from the Hessian: the energy's third derivatives, and the entropy's
/// along every column of a square root of Sigma.
double finite_width_flops(const Action& action);

/// Posterior means to first order beyond the saddle point, in 1/N (eqs. 40 and 41):
///   E[x]_i = x*_i - sum_j Sigma_ij ( 1/2 dD/dx_j + 1/4 sum_kl S_jkl Sigma_kl ),
///   Sigma = 2 (d2S/dx2)^{-1},   D = sum_l (C p_l + 1) logdet U_l + (C + 1) logdet U_a,
/// with error bars sqrt(Sigma_ii). The predictor, with derivatives at the saddle point (eq. 42):
///   E[f] = f(E[U]) + 1/2 tr(f'' Sigma),
///   Var[f] = variance(E[U]) + f' Sigma f' + 1/2 tr(variance'' Sigma).
/// Errors of both are of order 1/N^2. At the adapted S of a value network they are not: the
/// fluctuations of S, of order 1/N too, are left out. The last term is never positive. Where it
/// exceeds the others, the width is too small for a first correction, and the variance is NaN.
///
/// Computed from the Hessian. `test` predicts on the examples that a prediction is wanted for;
/// null: none. Errors: none; an undefined or interrupted correction says why. Cost:
/// finite_width_flops().
FiniteWidthCorrection finite_width_correction(const Action& action, const SaddlePoint& saddle,
                                              const MatrixXd& svec_hessian,
                                              const RepeatedPredictor* test, Observer& observer);

/// The correction without the Hessian. Sums over Sigma become means over the draws s of `probes`:
/// sum_kl S_jkl Sigma_kl ~ < S_jkl s_k s_l >. The deviations of the entropy alone are known; they
/// are corrected by the ratio of mean squares over the draws. Cost: one third derivative a draw,
/// and kProbeGroups linear systems, whose spread gives the error.
FiniteWidthCorrection finite_width_correction(const Action& action, const SaddlePoint& saddle,
                                              const ActionCurvature& at,
                                              const HessianProbes& probes,
                                              const RepeatedPredictor* test, Observer& observer);

/// Posterior covariance, to leading order in 1/N, of functions of U_1 with these gradients (matrix
/// derivatives at the saddle point): C_hk = g_h^T Sigma g_k (eq. 67). The first takes the Hessian;
/// cost n^3 / 3 flops for n unknowns. The second takes products with it in geodesic coordinates, by
/// conjugate gradients; some tens of products a gradient. Empty where the Hessian is not positive
/// definite, or interrupted.
MatrixXd posterior_covariance(const MatrixXd& svec_hessian, const std::vector<MatrixXd>& gradients);
MatrixXd posterior_covariance(const ActionCurvature& at, const std::vector<MatrixXd>& gradients,
                              Observer& observer);

}  // namespace headway::theory
