#pragma once

#include <memory>

#include "headway/core/gram.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/path_kernels.hpp"

/// Private to theory: the forms that evaluate the energy, and the mixing of paths that they share.
namespace headway::theory {

std::shared_ptr<const PathKernels> make_streamed_kernels(MatrixXd features, MatrixXd labels,
                                                         Index paths, int threads);
/// As make_path_kernels(), where all C_{pi pi'} are known already (p P x p P, rows pi P + example):
/// the stored form then multiplies no features.
std::shared_ptr<const PathKernels> make_path_kernels_of(const MatrixXd& products,
                                                        MatrixXd scaled_features, MatrixXd labels,
                                                        Index paths,
                                                        const PathKernelOptions& options);
std::shared_ptr<const PathKernels> make_gram_kernels(GramMatrices data, Index paths, int threads);

/// From this number of paths on, ranks of a row of the grid share the mixing of features and send
/// each other the results. Mixing takes 2 p flops a number; with fewer paths it is faster to repeat
/// it than to send.
inline constexpr Index kPathsWorthSending = 32;

/// The curvature of the feature-space forms, from Z = X~^T (K + T)^{-1} X~ and v = X~^T alpha
/// (N_0 x C p) in the frame's coordinates, X~ = X (F kron I).
std::unique_ptr<const EnergyCurvature> make_feature_space_curvature(MatrixXd z, MatrixXd v);

/// The curvature from whitened features H = L^{-1} X (lifted for several outputs) and labels
/// L^{-1} y, K + T = L L^T.
std::unique_ptr<const EnergyCurvature> make_whitened_curvature(const MatrixXd& half,
                                                               const MatrixXd& half_labels,
                                                               const MatrixXd& frame,
                                                               Precision precision, int threads);

/// -(v''_a . v_b + v_a . v''_b + 2 v'_a . v'_b) summed over directions, the part of the third
/// derivative that comes from the quadratic form alone, with v' = -Z v D, v'' = -2 Z v' D.
MatrixXd quadratic_third_derivative(const EnergyState& state, const MatrixXd& sigma);

/// U[(., c), (., d)]: p x p.
MatrixXd output_block(const MatrixXd& u, Index outputs, Index c, Index d);

/// (U_ab + U_ba) / 2 of every pair a >= b of p paths, in the order of symmetric_index().
VectorXd pair_coefficients(const MatrixXd& u, Index paths);

/// X (M kron I_{N_0}): path block a of the result is sum_b X_b M(b, a). Cost 2 P N_0 p p' flops.
MatrixXd mix_paths(const MatrixXd& features, const MatrixXd& mixing, int threads = 1);
numerics::MatrixXf mix_paths(const numerics::MatrixXf& features, const numerics::MatrixXf& mixing,
                             int threads);

}  // namespace headway::theory
