#pragma once

#include <memory>

#include "headway/numerics/dense.hpp"
#include "headway/theory/path_kernels.hpp"

/// Private to theory: the three ways to evaluate the energy, and the path mixing they share.
namespace headway::theory {

/// `energy_tolerance` > 0: in fixed point (PathKernelOptions).
std::shared_ptr<const PathKernels> make_stored_kernels(MatrixXd features, MatrixXd labels,
                                                       Index paths, int threads,
                                                       double energy_tolerance);
std::shared_ptr<const PathKernels> make_streamed_kernels(MatrixXd features, MatrixXd labels,
                                                         Index paths, int threads);
std::shared_ptr<const PathKernels> make_feature_space_kernels(MatrixXd features, MatrixXd labels,
                                                              Index paths, int threads);

/// U[(., c), (., d)]: p x p.
MatrixXd output_block(const MatrixXd& u, Index outputs, Index c, Index d);

/// X (M kron I_{N_0}): path block a of the result is sum_b X_b M(b, a). Cost 2 P N_0 p p' flops.
MatrixXd mix_paths(const MatrixXd& features, const MatrixXd& mixing, int threads = 1);
numerics::MatrixXf mix_paths(const numerics::MatrixXf& features, const numerics::MatrixXf& mixing,
                             int threads);

}  // namespace headway::theory
