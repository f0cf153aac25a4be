#pragma once

#include <string>

#include "headway/core/gram.hpp"
#include "headway/path_kernels.hpp"

namespace headway::theory {

/// Phi^T Phi, Phi^T Y and Y^T Y of features (P x D) and labels (P x C). Cost P D^2 flops.
GramMatrices gram_matrices(const MatrixXd& features, const MatrixXd& labels);

/// From unscaled path features to those of the theory: X = s_0 xi / sqrt(N_0 p).
GramMatrices scale_gram(GramMatrices data, double input_variance);

/// What is wrong with Gram matrices of `paths` paths, and what is allowed; "" if nothing is. Faults
/// are: sizes that do not fit, numbers that are not finite, a matrix that is not symmetric or not
/// positive semidefinite, a path whose features are all zero, and projections that no labels of
/// this size can have. Cost D^3.
std::string gram_fault(const GramMatrices& data, Index paths);

/// Rows of features and labels that have the given Gram matrices: P, at most D + C. They stand for
/// the examples: quadratic forms and predictors are the same, and with P rows every energy.
struct GramRows {
  MatrixXd features;  ///< rows x D
  MatrixXd labels;    ///< rows x C
  /// The rounding of the smallest eigenvalue that was kept, relative to itself; 1 where the rank is
  /// below the rows that examples could give, so that some may have been lost.
  double rounding = 0.0;
};

/// Whether rows are fewer than directions: kernels of GramRows then cost less than D x D matrices.
inline bool has_few_rows(const GramMatrices& data) { return data.examples < data.gram.rows(); }

/// With Phi^T Phi = S V Lambda V^T S, S the sizes of its columns and V Lambda V^T of rank r, the
/// rows are
///   X = [Lambda^{1/2} V^T S; 0],   Y' = [Lambda^{-1/2} V^T S^{-1} Phi^T Y; R],
/// where R^T R is the part of Y^T Y outside the span of the features. Cost O(D^3), once.
GramRows rows_of_gram(const GramMatrices& data);

/// Kernels from scaled Gram matrices alone (KernelForm::kGram); the cost of an evaluation is free
/// of P. Every T > 0, any number of outputs, singular U too. They have no features(), labels(),
/// kernel(). Energies have an error of about 2^-52 tr(Y^T Y) / T, because the Gram matrices are
/// rounded. This error is the same for every U.
std::shared_ptr<const PathKernels> make_path_kernels(GramMatrices data, Index paths, int threads);

}  // namespace headway::theory
