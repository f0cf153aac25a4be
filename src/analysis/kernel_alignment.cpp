#include "headway/analysis/kernel_alignment.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "headway/numerics/dense.hpp"

namespace headway::analysis {

KernelAlignment kernel_alignment(MatrixXd kernel, const VectorXd& labels) {
  const auto rows = static_cast<double>(kernel.rows());
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(std::move(kernel), true);
  KernelAlignment result;
  result.eigenvalues = eigen.values.reverse();
  const VectorXd projections =
      numerics::multiply_vector(eigen.vectors, numerics::Transpose::kYes, labels).reverse();
  result.overlaps = projections.cwiseAbs() / labels.norm();
  // Where eigenvalues are rounding, the eigenvectors are an arbitrary basis of the null space.
  const double rounding =
      rows * std::numeric_limits<double>::epsilon() * result.eigenvalues.maxCoeff();
  result.cumulative.resize(result.overlaps.size());
  double sum = 0.0;
  for (Index k = 0; k < result.overlaps.size(); ++k) {
    if (!(result.eigenvalues[k] > rounding)) {
      result.overlaps[k] = std::numeric_limits<double>::quiet_NaN();
    } else {
      sum += result.overlaps[k] * result.overlaps[k];
    }
    result.cumulative[k] = sum;
  }
  return result;
}

}  // namespace headway::analysis
