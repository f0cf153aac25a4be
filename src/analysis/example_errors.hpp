#pragma once

#include "headway/types.hpp"

/// Private to analysis.
namespace headway::analysis {

/// Of every example, the mean over outputs. Both are [P, C].
inline VectorXd squared_errors(const MatrixXd& outputs, const MatrixXd& labels) {
  return (outputs - labels).rowwise().squaredNorm() / static_cast<double>(labels.cols());
}

}  // namespace headway::analysis
