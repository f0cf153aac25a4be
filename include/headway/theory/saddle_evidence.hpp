#pragma once

#include "headway/saddle_point.hpp"

namespace headway::theory {

class ActionCurvature;
struct HessianProbes;

/// The saddle point's approximations of the evidence log p(y), in nats. posterior::bridge_evidence
/// estimates it without approximation, from posterior draws.
///
/// By eq. 43, p(y) = (2 pi)^{-P C / 2} E_prior[ exp(-energy(U_1) / 2) ]. The priors of U_a, U_L,
/// ..., U_1 are Wisharts. Up to a constant factor their densities are exp(-entropy / 2) with
/// respect to the invariant measures dU_l / det U_l^{(d_l + 1) / 2}, d_l = C p_l. Laplace's method
/// (eqs. 44 to 46) is applied about the minimum of S = energy + entropy, and about the minimum of
/// the entropy alone, whose integral normalises the priors. So T -> infinity gives the evidence of
/// pure noise exactly. The ratio of the two is
///   log p(y) ~ -1/2 { P C log 2 pi + S* - S_0 + D* + logdet S''* - sum_l n_l log N_l },
///   S_0 = sum_{l <= L+1} N_l d_l (1 - log s_l^2),   D = sum_{l <= L+1} (d_l + 1) logdet U_l,
///   n_l = d_l (d_l + 1) / 2 the number of unknowns in U_l,
/// with S''* the Hessian in svec coordinates. D* + logdet S''* is its log determinant in the
/// invariant coordinates. sum_l n_l log N_l is the same for the entropy at its own minimum, the
/// Gaussian-process point. The leading order leaves out the determinants:
/// -1/2 {P C log 2 pi + S* - S_0}.
///
/// At fixed P / N the error of Laplace's method is O(1/N). That of the leading order is O(1),
/// because it leaves out how much narrower than the prior the posterior is. At fixed P the errors
/// are O(1/N^2) and O(1/N). Where some N_l < d_l the Wisharts are singular, and both are formal, as
/// is the saddle point.
///
/// `svec_hessian`: Action::hessian at the saddle point, or empty when it was not computed. NaN
/// where the saddle point is not finite. Laplace's method is taken if there is a positive definite
/// Hessian. Cost: one Cholesky factorisation of the Hessian.
SaddleEvidence saddle_evidence(const Action& action, const SaddlePoint& saddle,
                               const MatrixXd& svec_hessian);

/// The same without the Hessian: in geodesic coordinates D* + logdet S''* is the log determinant of
/// the Hessian there, which random probes estimate.
SaddleEvidence saddle_evidence(const Action& action, const SaddlePoint& saddle,
                               const ActionCurvature& at, const HessianProbes& probes);

}  // namespace headway::theory
