#pragma once

#include <memory>

#include "headway/core/block_cyclic.hpp"
#include "headway/core/ranks.hpp"
#include "headway/path_kernels.hpp"

namespace headway::theory {

/// The training examples as one of several ranks has them: scaled features of the block rows and
/// of the block columns of K that are its own.
struct RankExamples {
  SharedSquare place;  ///< of K, P x P
  MatrixXd rows;       ///< rows.count() x (p N_0)
  MatrixXd columns;    ///< columns.count() x (p N_0)
  MatrixXd labels;     ///< of all: P x 1
};

/// Error{kUnavailable} where what the ranks were built with has no SharedCholesky, kBadStudy where
/// a matrix is too large for it. All ranks call it together.
void require_shared_cholesky(Ranks& ranks, const SharedSquare& place);

/// Kernels of examples that lie on all ranks (KernelForm::kDistributed), one output; for the first
/// of them, while the others are in serve_distributed_kernels(), which returns when these kernels
/// and their states are gone. To be used from one thread, that of the ranks. They have no
/// features(), labels(), kernel().
/// Cost of an evaluation: kernel_cost() of this form; what is sent: U, 2 P numbers, and D + p^2
/// numbers back, D = p N_0.
/// Needs what require_shared_cholesky() requires. Every function throws on the first rank what
/// failed on any of them, with the rank in its message.
std::shared_ptr<const PathKernels> lead_distributed_kernels(Ranks& ranks, RankExamples examples,
                                                            Index paths, int threads);
void serve_distributed_kernels(Ranks& ranks, RankExamples examples, Index paths, int threads);

/// The mean predictor on the training examples, y - T alpha, of a state of such kernels: P x 1;
/// empty of any other.
MatrixXd mean_on_shared_examples(const EnergyState& state);

}  // namespace headway::theory
