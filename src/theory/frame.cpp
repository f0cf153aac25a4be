#include "frame.hpp"

#include <algorithm>
#include <limits>

#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "path_kernel_forms.hpp"

namespace headway::theory {
namespace {

using numerics::SpdFactor;

constexpr double kSingular = 1e13;     // from this condition number on, U counts as singular
constexpr double kIndefinite = 1e-10;  // of the largest eigenvalue: rounding of a semidefinite U

}  // namespace

MatrixXd block_congruence(const MatrixXd& a, const MatrixXd& m) {
  const MatrixXd columns = mix_paths(a, m);
  const MatrixXd transposed = columns.transpose();
  return mix_paths(transposed, m);
}

std::optional<Frame> frame_of(const MatrixXd& u) {
  const std::optional<SpdFactor> cholesky = SpdFactor::factor(u);
  // Rounding lets a singular U pass now and then. Numbers divided by its tiny pivot are noise.
  if (cholesky && cholesky->condition_estimate() < kSingular) return Frame{cholesky->lower(), true};
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(u, true);
  const Index n = u.rows();
  const double smallest =
      static_cast<double>(n) * std::numeric_limits<double>::epsilon() * eigen.values[n - 1];
  if (!(eigen.values[0] >= -kIndefinite * eigen.values[n - 1])) return std::nullopt;
  const Index rank = std::max<Index>(1, (eigen.values.array() > smallest).count());
  return Frame{eigen.vectors.rightCols(rank) *
                   eigen.values.tail(rank).cwiseMax(0.0).cwiseSqrt().asDiagonal(),
               false};
}

}  // namespace headway::theory
