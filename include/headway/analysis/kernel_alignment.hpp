#pragma once

#include "headway/types.hpp"

namespace headway::analysis {

/// Overlap of a kernel's eigenvectors with the labels (eq. 52): |v_k . y| / |y| by falling
/// eigenvalue. Eigenvectors of equal eigenvalues are arbitrary, so each of them has the root mean
/// square of their overlaps. NaN beyond the kernel's rank.
struct KernelAlignment {
  VectorXd eigenvalues;
  VectorXd overlaps;
  VectorXd cumulative;  ///< running sum of squared overlaps; ends at 1 for a kernel of full rank
};

/// kernel: symmetric n x n without T (lower triangle read); labels: n numbers, not all zero (else
/// the overlaps are NaN). Cost about 9 n^3 flops and 2 n^2 numbers beside the kernel.
KernelAlignment kernel_alignment(MatrixXd kernel, const VectorXd& labels);

}  // namespace headway::analysis
