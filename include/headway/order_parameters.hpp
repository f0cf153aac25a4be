#pragma once

#include <string>
#include <vector>

#include "headway/architecture.hpp"
#include "headway/types.hpp"

namespace headway::theory {

/// The order parameters (src/theory/README.md, "Notation"): U_1, ..., U_L over head paths (size C
/// p_l each, path-major with the output as the fastest index) and U_a (C x C). All symmetric
/// positive definite at a saddle point.
struct OrderParameters {
  std::vector<MatrixXd> layers;  ///< U_1, ..., U_L
  MatrixXd readout;              ///< U_a

  /// U_l for l = 1..L+1, where U_{L+1} = U_a.
  [[nodiscard]] const MatrixXd& at(int layer) const {
    return layer <= static_cast<int>(layers.size()) ? layers[layer - 1] : readout;
  }
  [[nodiscard]] MatrixXd& at(int layer) {
    return layer <= static_cast<int>(layers.size()) ? layers[layer - 1] : readout;
  }
};

/// The Gaussian-process limit N -> infinity at fixed P (eq. 24): U_l = s_a^2 prod_{k >= l} s_k^2 I.
OrderParameters gaussian_process_order_parameters(const model::Architecture& architecture);

/// u_l of eq. 21: the partial trace of U over its slowest index, which runs over
/// `heads` values.
MatrixXd partial_trace(const MatrixXd& u, Index heads);

/// I_heads kron v.
MatrixXd repeat_diagonal(const MatrixXd& v, Index heads);

/// Throws Error{kBadStudy} unless the sizes fit the architecture.
void check_order_parameters(const OrderParameters& u, const model::Architecture& architecture);

}  // namespace headway::theory
