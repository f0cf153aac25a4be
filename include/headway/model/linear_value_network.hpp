#pragma once

#include <cstdint>
#include <vector>

#include "headway/architecture.hpp"
#include "headway/core/examples.hpp"
#include "headway/core/linear_value_network.hpp"
#include "headway/core/rng.hpp"
#include "headway/types.hpp"

namespace headway::model {

using headway::LinearValueNetwork;

/// All weights from their prior (eq. 4): independent normals of variance s_0^2 (V_0), s_l^2 (V_l),
/// s_a^2 (a). Order of draws: V_0, V_1^1 .. V_1^{H_1}, .., V_L^{H_L}, a; each matrix column by
/// column.
LinearValueNetwork draw_from_prior(const Architecture& architecture, Index features, Rng& rng);

/// r as a vector over the S positions (eq. 3). `mask` is empty or has S entries.
/// Error{kBadData} when no token is real.
VectorXd readout_vector(Readout readout, Index tokens, const std::vector<std::uint8_t>& mask = {});

/// f(x), C numbers. `inputs` is S x N_0; attention[l][h] is S x S, [query, key]; `readout` is r.
VectorXd network_output(const LinearValueNetwork& network,
                        const Eigen::Ref<const RowMatrixXd>& inputs,
                        const std::vector<std::vector<MatrixXd>>& attention,
                        const VectorXd& readout);

/// Effective weights V, (p C) x N_1, output index fastest (eq. 11):
///   V_{(h_1..h_L), c} = a_c V_L^{h_L} ... V_1^{h_1} / sqrt(N_a N_L ... N_2),
/// so that U_1 = V V^T / N_1 and f_c(x) = sum_pi V_{pi, c} . V_0 xi_pi / sqrt(N_1 p N_0).
MatrixXd effective_weights(const LinearValueNetwork& network);

/// U_1 = V V^T / N_1 (eq. 13) of the effective weights, (p C) x (p C): what the theory's U_1 is
/// compared with.
MatrixXd order_parameter(const LinearValueNetwork& network);

/// Outputs along each path (eq. 12), P x (p C), path-major with the output fastest:
///   f_{pi, c}(x) = V_{pi, c} . V_0 xi_pi(x) / sqrt(N_1 p N_0),   f_c = sum_pi f_{pi, c}.
/// `features`: unscaled path features, P x (p N_0), as model::path_features returns them.
/// Error{kBadData} when they are of another network. Cost O(P p N_0 C), after O(p C N_1 N_0).
MatrixXd path_outputs(const LinearValueNetwork& network,
                      const Eigen::Ref<const RowMatrixXd>& features);

}  // namespace headway::model
