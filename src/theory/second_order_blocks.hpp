#pragma once

#include "headway/numerics/dense.hpp"
#include "headway/types.hpp"

/// Second derivatives of log det (K + T) from inner products of blocks (private to theory). Here
/// K^{-1} is short for (K + T)^{-1}. With W_a = L^{-1} X_a, K + T = L L^T:
///   tr(K^{-1} C_ab K^{-1} C_cd) = <Z_ad, Z_bc> = <Y_ba, Y_cd>,    Z_ab = W_a^T W_b (N_0 x N_0),
///   Y_ab = W_a W_b^T (P x P).
/// Either kind of block serves; the smaller one is cheaper.
namespace headway::theory {

enum class BlockKind { kFeature /* Z */, kExample /* Y */ };

/// All p^2 blocks as columns: (side^2) x p^2, column a p + b holds block (a, b), column-major.
template <class Scalar>
struct BlockSetOf {
  BlockKind kind = BlockKind::kFeature;
  Index order = 0;  // p
  Index side = 0;   // N_0 or P
  Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic> columns;
};
using BlockSet = BlockSetOf<double>;
using BlockSetF = BlockSetOf<float>;

/// Blocks of W = L^{-1} X (rows x (N_0 p)) of the kind that is smaller. Cost p(p+1) N_0 rows side
/// flops.
BlockSet make_blocks(const MatrixXd& w, Index feature_count);
BlockSetF make_blocks(const numerics::MatrixXf& w, Index feature_count);

/// tr(K^{-1} C_k K^{-1} C_l) in svec coordinates from the blocks. Cost p^4 side^2 flops.
MatrixXd fisher_information(const BlockSet& blocks);
MatrixXd fisher_information(const BlockSetF& blocks);

/// The svec matrix Sigma as the p^2 x p^2 matrix of sum_m D_m kron D_m: entry [(a,b),(c,d)] = sum_m
/// (D_m)_ab (D_m)_cd.
MatrixXd unpack_pair_matrix(const MatrixXd& sigma, Index order);

/// A square root of Sigma as columns w_m (svec coordinates): Sigma = sum_m w_m w_m^T.
MatrixXd factor_covariance(const MatrixXd& sigma);

/// sum_m L^{-1} D_m K^{-1} D_m L^{-T} over a square root of sigma, from the blocks of W.
template <class Scalar>
MatrixXd second_order_inner(const Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>& w,
                            const BlockSetOf<Scalar>& z, const MatrixXd& sigma);

}  // namespace headway::theory
