#pragma once

#include <memory>

#include "headway/core/block_cyclic.hpp"
#include "headway/core/ranks.hpp"
#include "headway/path_kernels.hpp"

namespace headway::theory {

/// The training examples that one of several ranks holds: the scaled features of its own block rows
/// and block columns of K.
struct RankExamples {
  SharedSquare place;  ///< of K, P x P
  MatrixXd rows;       ///< rows.count() x (p N_0)
  MatrixXd columns;    ///< columns.count() x (p N_0)
  MatrixXd labels;     ///< of all: P x 1
};

/// Error{kUnavailable} if the build has no SharedCholesky, kBadStudy if a matrix is too large for
/// it. All ranks call it together.
void require_shared_cholesky(Ranks& ranks, const SharedSquare& place);

/// Kernels of examples that lie on all ranks (KernelForm::kDistributed), for one output. The first
/// rank calls this; the others call serve_distributed_kernels(), which returns when these kernels
/// and their states are destroyed. Use them from one thread, that of the ranks. They have no
/// features(), labels(), kernel(). An error on any rank is thrown on the first, with the rank in
/// its message. Cost of an evaluation: kernel_cost() of this form; U and 2 P numbers are sent to
/// each rank, and D + p^2 numbers back, D = p N_0. Call require_shared_cholesky() before.
std::shared_ptr<const PathKernels> lead_distributed_kernels(Ranks& ranks, RankExamples examples,
                                                            Index paths, int threads);
void serve_distributed_kernels(Ranks& ranks, RankExamples examples, Index paths, int threads);

/// The mean predictor on the training examples, y - T alpha, of a state of distributed kernels:
/// P x 1. Empty for a state of any other kernels.
MatrixXd mean_on_shared_examples(const EnergyState& state);

}  // namespace headway::theory
