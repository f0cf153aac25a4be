#include "headway/theory/empty_directions.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "headway/numerics/dense.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::Transpose;

constexpr Index kLargestReduced = 1024;  // N_0 up to which the spectrum is looked at
constexpr double kWorthReducing = 0.9;   // of N_0
constexpr double kFarFromEmpty = 100.0;  // times the bound below which a direction counts as empty

constexpr double kShareOfTemperature = 1e-10;  // that dropped directions may add to a kernel
constexpr double kShareOfKernel = 1e-18;       // the same at T = 0

/// X_pi V for every path.
MatrixXd rotate_features(const MatrixXd& features, const MatrixXd& v, Index paths) {
  MatrixXd rotated(features.rows(), v.cols() * paths);
  if (features.rows() == 0) return rotated;
  for (Index a = 0; a < paths; ++a) {
    multiply(1.0, features.middleCols(a * v.rows(), v.rows()), Transpose::kNo, v, Transpose::kNo,
             0.0, rotated.middleCols(a * v.cols(), v.cols()));
  }
  return rotated;
}

/// Whether these directions add nothing to the kernel of any path.
bool is_empty(const MatrixXd& features, const MatrixXd& directions, Index paths,
              double temperature) {
  const Index n0 = directions.rows();
  const MatrixXd left = rotate_features(features, directions, paths);
  for (Index a = 0; a < paths; ++a) {
    const VectorXd added =
        left.middleCols(a * directions.cols(), directions.cols()).rowwise().squaredNorm();
    const VectorXd whole = features.middleCols(a * n0, n0).rowwise().squaredNorm();
    const bool beside_temperature = temperature > 0.0;
    if (beside_temperature ? (added.array() > kShareOfTemperature * temperature).any()
                           : (added.array() > kShareOfKernel * whole.array()).any())
      return false;
  }
  return true;
}

}  // namespace

Index drop_empty_directions(MatrixXd& train_features, MatrixXd& other_features, Index paths,
                            double temperature) {
  const Index n0 = train_features.cols() / paths;
  if (n0 > kLargestReduced) return n0;
  MatrixXd gram = MatrixXd::Zero(n0, n0);
  for (const MatrixXd* x : {&train_features, &other_features}) {
    if (x->rows() == 0) continue;
    for (Index a = 0; a < paths; ++a) {
      const double square = x->middleCols(a * n0, n0).squaredNorm();
      if (square == 0.0) continue;
      numerics::rank_update_lower(1.0 / square, x->middleCols(a * n0, n0), Transpose::kYes, 1.0,
                                  gram);
    }
  }
  if (!gram.allFinite()) return n0;
  const double rounding = static_cast<double>(n0) * std::numeric_limits<double>::epsilon();
  // Mostly no direction is near empty. A Cholesky factor shows that in a thirtieth of the time.
  MatrixXd shifted = gram;
  shifted.diagonal().array() -= kFarFromEmpty * rounding * gram.trace();
  if (numerics::SpdFactor::factor(std::move(shifted))) return n0;
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(std::move(gram), true);
  const double smallest = rounding * eigen.values[n0 - 1];
  const Index kept = std::max<Index>(1, (eigen.values.array() > smallest).count());
  if (static_cast<double>(kept) > kWorthReducing * static_cast<double>(n0)) return n0;
  const MatrixXd dropped = eigen.vectors.leftCols(n0 - kept);
  if (!is_empty(train_features, dropped, paths, temperature) ||
      !is_empty(other_features, dropped, paths, temperature)) {
    return n0;
  }
  const MatrixXd v = eigen.vectors.rightCols(kept);  // of the largest
  train_features = rotate_features(train_features, v, paths);
  other_features = rotate_features(other_features, v, paths);
  return kept;
}

}  // namespace headway::theory
