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
    // Eigenvectors of equal eigenvalues are an arbitrary basis of their space. So are those of the
    // null space, where eigenvalues are rounding. It is a space of its own: small eigenvalues may
    // lead down to it in steps as small.
    const auto is_zero = [&](Index i) { return !(result.eigenvalues[i] > rounding); };
    const bool is_null = is_zero(first);
    Index end = first + 1;
    while (end < count && is_zero(end) == is_null &&
           result.eigenvalues[end - 1] - result.eigenvalues[end] <= rounding) {
      ++end;
    }
    auto equal = result.overlaps.segment(first, end - first);
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
