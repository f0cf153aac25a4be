#pragma once

#include <memory>
#include <vector>

#include "headway/observer.hpp"
#include "headway/path_kernels.hpp"

namespace headway::theory {

/// The predictor at many U on the same examples. Where it is cheaper (one output, and few paths
/// relative to N_0), what does not depend on U is computed once. With C*_ab = X_a X*_b^T and
/// prior_ab(x) = X_a(x) . X_b(x), eqs. 16 and 17 are
///   K*(U) = sum_{a >= b} U_ab (C*_ab + C*_ba),   f = K*^T alpha,
///   variance = sum_ab U_ab prior_ab - |L^{-1} K*|^2,   L L^T = K + T.
/// The curvature of the variance along D_m is eq. 42 in the space of examples,
///   1/2 variance'' = -|L^{-1} r_m|^2,   r_m = K*(D_m) - K(D_m) (K + T)^{-1} K*(U).
/// Immutable; may be shared by threads.
class RepeatedPredictor {
 public:
  /// `features`: of the examples, scaled (PathKernels::scale_features), 0 rows for none.
  /// `predictions`: how many are expected, about. Cost where kernels are kept: p direct
  /// predictions, and P x rows x p (p + 1) / 2 numbers, at most kMostBytes.
  RepeatedPredictor(std::shared_ptr<const PathKernels> kernels,
                    std::shared_ptr<const MatrixXd> features, double predictions);

  static constexpr double kMostBytes = 128.0 * 1024 * 1024;

  [[nodiscard]] Index examples() const { return features_->rows(); }
  /// Whether kernels are kept; else each call works from the features.
  [[nodiscard]] bool keeps_kernels() const { return !tiles_.empty(); }
  /// Mean and variance at the U = U_1 that `state` of the same kernels is evaluated at. Cost where
  /// kernels are kept: P rows (p (p + 1) + P) flops.
  [[nodiscard]] Prediction predict(const EnergyState& state, const MatrixXd& u) const;
  /// EnergyState::mean_fluctuation and variance_shift along the columns of `directions` in svec
  /// coordinates; empty when interrupted. Cost: fluctuation_flops().
  [[nodiscard]] PredictionFluctuation fluctuation(const EnergyState& state, const MatrixXd& u,
                                                  const MatrixXd& directions,
                                                  Observer& observer) const;
  /// Flops of fluctuation(), about, for so many directions. Most are those of the variance. From
  /// kept kernels, for M directions and pairs = p (p + 1) / 2: P rows pairs (3 P + 2 M) + 2 P^2 N_0
  /// pairs. Else see EnergyState::second_order_form.
  [[nodiscard]] double fluctuation_flops(Index directions) const;

 private:
  struct Tile {  // of examples, few enough that their kernels stay in the cache
    Index first = 0, count = 0;
    MatrixXd kernels;  // column k: C*_ab + C*_ba (C*_aa) as P x count
  };
  void keep_kernels();
  [[nodiscard]] MeanFluctuation mean_fluctuation(const EnergyState& state, const MatrixXd& u,
                                                 const MatrixXd& directions,
                                                 Observer& observer) const;

  /// Flops of the curvature of the variance from features, and from kept kernels.
  [[nodiscard]] double direct_flops(Index directions) const;
  [[nodiscard]] double kept_flops(Index directions) const;
  [[nodiscard]] bool curvature_from_kernels(Index directions) const;
  /// C_ab + C_ba (C_aa) of the training examples as columns, where that is the cheaper way; else
  /// empty.
  [[nodiscard]] MatrixXd training_kernels(Index directions) const;
  [[nodiscard]] MatrixXd variance_shift(const EnergyState& state, const MatrixXd& u,
                                        const MatrixXd& directions, Observer& observer) const;

  std::shared_ptr<const PathKernels> kernels_;
  std::shared_ptr<const MatrixXd> features_;
  std::vector<Tile> tiles_;
  MatrixXd prior_;  // rows x pairs, off the diagonal doubled
};

}  // namespace headway::theory
