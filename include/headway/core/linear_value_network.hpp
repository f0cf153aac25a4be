#pragma once

#include <vector>

#include "headway/types.hpp"

namespace headway {

/// One network of eqs. 1 to 3 ([T24]): attention given, values linear.
///   z^0_s = V_0 x_s / sqrt(N_0)
///   z^l_s = 1 / sqrt(H_l N_l) sum_h V_l^h sum_t Omega_l^h[s, t] z^{l-1}_t
///   f(x)  = a . r(z^L) / sqrt(N_a)
struct LinearValueNetwork {
  MatrixXd input;                             ///< V_0, N_1 x N_0
  std::vector<std::vector<MatrixXd>> values;  ///< [layer][head], V_l^h is N_{l+1} x N_l
  MatrixXd readout;                           ///< a, one row an output: C x N_a
};

}  // namespace headway
