#pragma once

#include <limits>

#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/order_parameters.hpp"
#include "headway/types.hpp"

namespace headway::posterior {

/// The quantities of one posterior draw.
struct PosteriorDraw {
  theory::OrderParameters order_parameters;  ///< U_1, ..., U_L, U_a of this draw
  MatrixXd
      mean;  ///< of f on the test examples given the draw, P_test x C (empty without a predictor)
  MatrixXd variance;  ///< of f given the draw: 0 for weight draws, the Gaussian-process variance
                      ///< given U for the exact chain
  MatrixXd feature_covariance;  ///< S of this draw, d x d: value networks alone
  // Learned attention alone, else NaN:
  double attention_entropy = std::numeric_limits<double>::quiet_NaN();
  double attention_largest = std::numeric_limits<double>::quiet_NaN();
  double log_likelihood = std::numeric_limits<double>::quiet_NaN();  ///< without (2 pi)^{-P C / 2}
};

/// Outputs of one network.
struct PriorOutputs {
  MatrixXd train;  ///< P x C
  MatrixXd test;   ///< on the examples that are predicted; 0 rows without them
};

/// A sampling target whose positions are networks: implemented by the exact chain and by the
/// weight-space posterior.
class PosteriorTarget {
 public:
  PosteriorTarget() = default;
  virtual ~PosteriorTarget() = default;

  /// Order parameters at `position`; with `predictor` also the prediction on the test examples. May
  /// use the target's workspace.
  virtual PosteriorDraw observe(const Eigen::Ref<const VectorXd>& position, bool predictor) = 0;

  /// f on the training examples, P x C: where the position leaves it open, a draw given the
  /// position and the labels. Calibration needs it. The base class throws Error{kInternal}.
  virtual MatrixXd draw_training_output(const Eigen::Ref<const VectorXd>& /*position*/,
                                        Rng& /*rng*/) {
    throw Error(ErrorKind::kInternal, "this target draws no outputs");
  }
  /// f of a network from the prior: what the position leaves open is drawn without labels. Targets
  /// whose features are not given have it. The base class throws Error{kInternal}.
  virtual PriorOutputs draw_prior_outputs(const Eigen::Ref<const VectorXd>& /*position*/,
                                          Rng& /*rng*/) {
    throw Error(ErrorKind::kInternal, "this target draws no outputs of the prior");
  }

 protected:
  PosteriorTarget(const PosteriorTarget&) = default;
  PosteriorTarget& operator=(const PosteriorTarget&) = default;
};

}  // namespace headway::posterior
