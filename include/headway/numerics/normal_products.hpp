#pragma once

#include "headway/core/words.hpp"
#include "headway/numerics/dense.hpp"

/// Means of products of a nonlinear function of two normal variables, z and z' of variances n and
/// n' and covariance c:
///   J(c, n, n') = E phi(z) phi(z').
///   relu       sqrt(n n') (sin t + (pi - t) cos t) / (2 pi), cos t = c / sqrt(n n')   [Cho and
///   Saul, 2009] erf        (2 / pi) arcsin(2 c / sqrt((1 + 2 n)(1 + 2 n'))) [Williams, 1997]
///   identity   c
/// All loops are branch-free and have versions for each instruction set.
namespace headway::numerics {

/// phi.
enum class Nonlinearity { kRelu, kErf, kIdentity };
Words<Nonlinearity> words_of(Nonlinearity);

/// phi and its derivative at one number; the derivative of relu at 0 is 0.
double apply_nonlinearity(Nonlinearity phi, double z);
double nonlinearity_slope(Nonlinearity phi, double z);

/// In place: the covariances c_ij become J(c_ij, n_i, m_j). Rounding of about 4 eps sqrt(J(n_i)
/// J(m_j)), J(n) = J(n, n, n). Cost: 1 to 3 ns an entry with AVX-512.
void normal_products(Nonlinearity phi, const VectorXd& n, const VectorXd& m, MatrixRef c);

/// Derivatives of a sum over pairs with respect to the variances.
struct VarianceSlopes {
  VectorXd by_n;  ///< sum_j w_ij dJ/dn
  VectorXd by_m;  ///< sum_i w_ij dJ/dm
};

/// The derivatives of sum_ij w_ij J(c_ij, n_i, m_j): in place c_ij becomes w_ij dJ/dc, and `slopes`
/// gets the others. The derivative with respect to a variance that is 0 counts as 0: it only ever
/// multiplies a vector of length 0.
void normal_product_slopes(Nonlinearity phi, const VectorXd& n, const VectorXd& m,
                           const ConstMatrixRef& w, MatrixRef c, VarianceSlopes& slopes);

}  // namespace headway::numerics
