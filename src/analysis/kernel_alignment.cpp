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
  const Index count = projections.size();
  result.overlaps = projections.cwiseAbs() / labels.norm();
  result.cumulative.resize(count);
  const double rounding =
      rows * std::numeric_limits<double>::epsilon() * result.eigenvalues.maxCoeff();
  double sum = 0.0;
  for (Index first = 0; first < count;) {
    // Eigenvectors of equal eigenvalues are an arbitrary basis of their space.
    Index end = first + 1;
    while (end < count && result.eigenvalues[end - 1] - result.eigenvalues[end] <= rounding) ++end;
    auto equal = result.overlaps.segment(first, end - first);
    const bool is_null = !(result.eigenvalues[first] > rounding);
    if (is_null) {
      equal.setConstant(std::numeric_limits<double>::quiet_NaN());
    } else if (equal.size() > 1) {
      equal.setConstant(std::sqrt(equal.squaredNorm() / static_cast<double>(equal.size())));
    }
    for (Index i = first; i < end; ++i) {
      if (!is_null) sum += result.overlaps[i] * result.overlaps[i];
      result.cumulative[i] = sum;
    }
    first = end;
  }
  return result;
}

}  // namespace headway::analysis
