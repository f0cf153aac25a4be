#pragma once

#include "headway/core/labels.hpp"
#include "headway/path_kernels.hpp"
#include "headway/solution.hpp"

namespace headway::theory {

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
