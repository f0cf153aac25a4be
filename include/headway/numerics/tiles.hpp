#pragma once

#include "headway/numerics/dense.hpp"

/// Large matrix products cut into tiles that threads share. The cut depends on the sizes alone, so
/// that the numbers are the same on any number of threads; inside a parallel region all tiles run
/// on the caller's thread.
namespace headway::numerics {

/// C = op(A) op(B), cut along the longer side of C. Cost 2 m n k flops.
void multiply_tiled(const ConstMatrixRef& a, Transpose ta, const ConstMatrixRef& b, Transpose tb,
                    MatrixRef c, int threads);
void multiply_tiled(const ConstMatrixRefF& a, Transpose ta, const ConstMatrixRefF& b, Transpose tb,
                    MatrixRefF c, int threads);

/// C = A B^T (kNo) or A^T B (kYes), where the caller knows that C is symmetric: tiles on and below
/// the diagonal are computed and mirrored. For a small C the sum is cut, too, and its parts are
/// added in a fixed order. Cost about (1 + 1 / tiles) m m k flops.
void symmetric_product_tiled(const ConstMatrixRef& a, const ConstMatrixRef& b, Transpose t,
                             MatrixRef c, int threads);
void symmetric_product_tiled(const ConstMatrixRefF& a, const ConstMatrixRefF& b, Transpose t,
                             MatrixRefF c, int threads);

/// B -> L^{-1} B for the factor A = L L^T, cut along the columns of B. Cost m^2 n flops.
void half_solve_tiled(const SpdFactor& factor, MatrixRef b, int threads);

}  // namespace headway::numerics
