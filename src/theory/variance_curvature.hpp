#pragma once

#include <vector>

#include "headway/path_kernels.hpp"

/// Second derivatives of the predictor's variance along directions D_m of U_1 (eq. 42; private to
/// theory). Forms of the kernels differ in how they make W = sum_m (D_m kron I) Z (D_m kron I).
namespace headway::theory {

/// The directions as matrices over (path, output).
std::vector<MatrixXd> matrices_of(const MatrixXd& directions, Index order);

/// W from Y = L^{-1} X lifted to the outputs, Z = Y^T Y, which must outlive the form. Cost for each
/// column, with Y of R rows and D columns: 2 R D min(p, M) flops for order p and M directions, and
/// R p^2 M if M is not below p.
QuadraticForm half_solved_form(const MatrixXd& half, const MatrixXd& directions, Index order);

}  // namespace headway::theory
