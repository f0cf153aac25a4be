#pragma once

#include <optional>
#include <vector>

#include "headway/order_parameters.hpp"

namespace headway::theory {

/// Entropy part of the action (eq. 20, [T24]):
///   N_a (tr U_a / s_a^2 - logdet U_a)
///     + sum_{l <= L} N_l ( tr[U_{l+1}^{-1} u_l] / s_l^2 - logdet U_l + H_l logdet U_{l+1} ),
/// with U_{L+1} = U_a and u_l the partial trace of U_l. It is jointly geodesically convex on the
/// positive-definite cone.
struct Entropy {
  double value = 0.0;
  std::vector<MatrixXd>
      gradient;  ///< dS/dU_l for l = 1..L+1, as matrix derivatives (off-diagonals not doubled)
};

/// Value and gradient; nothing when some U_l is not positive definite. Cost O(sum_l (C p_l)^3).
std::optional<Entropy> evaluate_entropy(const model::Architecture& architecture,
                                        const OrderParameters& u);

/// Hessian in the svec coordinates of (U_1, ..., U_L, U_a) (numerics/symmetric.hpp), sizes sum_l C
/// p_l (C p_l + 1) / 2.
MatrixXd entropy_hessian(const model::Architecture& architecture, const OrderParameters& u);

/// d^2/dt^2 of the entropy's gradient at U + t D, for l = 1..L+1: the contraction S_jkl D_k D_l
/// that the 1/N correction (eq. 40) needs.
std::vector<MatrixXd> entropy_gradient_second_derivative(const model::Architecture& architecture,
                                                         const OrderParameters& u,
                                                         const OrderParameters& direction);

/// Closed forms (eqs. 25 to 27) that eliminate U_a and U_2..U_L given U_1. Sweeps over the layers
/// until the largest relative change is below `tolerance`. Each U_l solves a Riccati equation that
/// contains its neighbours. Starts from u's own upper layers and replaces them. Returns the number
/// of sweeps.
int eliminate_upper_layers(const model::Architecture& architecture, OrderParameters& u,
                           double tolerance = 1e-14, int max_sweeps = 500);

}  // namespace headway::theory
