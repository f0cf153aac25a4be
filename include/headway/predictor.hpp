#pragma once

#include <limits>

#include "headway/core/labels.hpp"
#include "headway/path_kernels.hpp"

namespace headway::theory {

/// What a mean and a variance say about labels (eq. 51). NaN where undefined. Accuracy needs labels
/// +-1 (one output) or one-hot (several). It also needs a mean that is not 0 on every example: such
/// a mean names no class. A layer without heads gives one.
struct PredictorStatistics {
  double accuracy = std::numeric_limits<double>::quiet_NaN();  ///< sign of the mean (exactly 0 is
                                                               ///< wrong), or largest mean output
  double mean_squared_error =
      std::numeric_limits<double>::quiet_NaN();  ///< of the mean, over examples and outputs
  double right_sign_probability =
      std::numeric_limits<double>::quiet_NaN();  ///< mean of Phi(y mean / sd); one output, labels
                                                 ///< +-1
  double squared_bias = std::numeric_limits<double>::quiet_NaN();  ///< mean of (mean - y)^2
  double predictor_variance =
      std::numeric_limits<double>::quiet_NaN();  ///< mean posterior variance of f
};

/// labels: P x C. An empty prediction gives all NaN. Without variances the fields that need them
/// are NaN.
PredictorStatistics predictor_statistics(const Prediction& prediction, const MatrixXd& labels);

/// d/dU_1 of the mean squared error, over examples and outputs, of the mean predictor at the U_1 of
/// `state` (eq. 66), as a matrix derivative (symmetric, off-diagonals not doubled): C p x C p.
/// features: M x p N_0, scaled as the training features; labels: M x C. Cost: a product with Z and
/// 2 M p N_0 C flops.
MatrixXd squared_error_gradient(const EnergyState& state, const MatrixXd& u,
                                const MatrixXd& features, const MatrixXd& labels);

using headway::labels_are_classes;

}  // namespace headway::theory
