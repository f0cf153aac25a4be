#pragma once

#include "headway/types.hpp"

namespace headway::theory {

/// The share of |y|^2 that K(U) of these scaled features (P x (p N_0)) can express: that of the
/// span of the mixed features W, K = W W^T. From a pivoted QR factorisation of W, in which a large
/// feature hides no small one, as its square in K does. Cost for n = P C rows and m = C p N_0
/// columns: 2 n m min(n, m) flops.
double expressible_share(const MatrixXd& features, const MatrixXd& u, const MatrixXd& labels);

}  // namespace headway::theory
