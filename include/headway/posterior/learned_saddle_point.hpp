#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/model/learned_attention.hpp"
#include "headway/observer.hpp"
#include "headway/saddle_point.hpp"

namespace headway::posterior {

/// A joint minimum over order parameters and attention (eq. 76) of
///   S(U, w) = energy(U_1; X(w)) + entropy(U) + |w|^2 / s_w^2.
/// For queries and keys the last term is (|W_Q|^2 + |W_K|^2) / s_w. Both are |z|^2.
struct LearnedMinimum {
  VectorXd z;              ///< attention weights (model::AttentionCoordinates)
  double action = 0.0;     ///< S(U, w)
  MatrixXd features;       ///< X(w), scaled
  theory::SaddlePoint of;  ///< U given w: the minimum of energy + entropy
  model::AttentionStatistics attention{};
  bool converged = false;
  std::string message = "the search was not begun";
  int iterations = 0;
  double gradient_norm = 0.0;  ///< largest entry of dS/dz / max N
  int starts = 1;              ///< that led here
};

struct LearnedSaddleOptions {
  theory::SaddlePointOptions saddle_point;
  theory::PathKernelOptions kernels;
  double gradient_tolerance = 1e-6;  ///< on LearnedMinimum::gradient_norm
  int max_iterations = 2000;
};

/// What S(U, w) depends on beside U and w.
struct LearnedSetting {
  const model::Architecture& architecture;
  double temperature;
  const model::LearnedAttention& attention;
  const MatrixXd& labels;
};

/// The minimum that L-BFGS finds over w from `start`. U is at its minimum given w in every step
/// (theory::solve_saddle_point), so the gradient is that of the energy at fixed U:
///   dS/dw = sum_pi <dE/dX_pi, dX_pi/dw> + 2 w / s_w^2.
/// Not converging is a value. T > 0. Cost of a step: a saddle point from a near start, path
/// features and their backward pass.
LearnedMinimum learned_saddle_point(const LearnedSetting& setting, const VectorXd& start,
                                    const LearnedSaddleOptions& options, Observer& observer);

/// The minima that differ, lowest action first. Minima are the same when action, U and attention
/// agree but for what leaves the network as it is. That is an exchange of heads. With linear
/// attention W_h -> sum_k O_hk W_k, U_l -> O U_l O^T over the learned heads of a layer does, too,
/// for any orthogonal O (form kMatrix), or any signs (kQueriesKeys). So there eigenvalues are
/// compared: of all U_l, and of the products <W_h, W_h'> of each layer. Minima that did not
/// converge are kept only where none did.
std::vector<LearnedMinimum> distinct_minima(std::vector<LearnedMinimum> minima,
                                            const model::AttentionCoordinates& weights);

}  // namespace headway::posterior
