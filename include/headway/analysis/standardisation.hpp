#pragma once

#include "headway/types.hpp"

namespace headway::analysis {

/// Mean and deviation of every column of codes or embeddings. A column that is constant but for
/// rounding has an infinite deviation: standardised, it is 0 for all vectors, new ones too. So no
/// fit uses it.
struct Standardisation {
  Eigen::RowVectorXd mean, deviation;

  /// A column is constant if its deviation is at most `rounding` times its mean.
  Standardisation(const MatrixXd& vectors, double rounding);
  /// (v - mean) / deviation of every row v.
  [[nodiscard]] MatrixXd apply(const MatrixXd& vectors) const;
};

}  // namespace headway::analysis
