#include "headway/analysis/standardisation.hpp"

#include <cmath>
#include <limits>

namespace headway::analysis {

Standardisation::Standardisation(const MatrixXd& vectors, double rounding)
    : mean(vectors.colwise().mean()),
      deviation(
          ((vectors.rowwise() - mean).colwise().squaredNorm() / static_cast<double>(vectors.rows()))
              .cwiseSqrt()) {
  for (Index j = 0; j < deviation.size(); ++j) {
    if (deviation(j) > rounding * std::abs(mean(j))) continue;
    deviation(j) = std::numeric_limits<double>::infinity();
  }
}

MatrixXd Standardisation::apply(const MatrixXd& vectors) const {
  return (vectors.rowwise() - mean) * deviation.cwiseInverse().asDiagonal();
}

}  // namespace headway::analysis
