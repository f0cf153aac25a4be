#include "headway/theory/label_share.hpp"

#include <cmath>
#include <limits>

#include "headway/numerics/symmetric.hpp"
#include "headway/theory/orthogonal_ridge.hpp"

namespace headway::theory {

double expressible_share(const MatrixXd& features, const MatrixXd& u, const MatrixXd& labels) {
  const MatrixXd w = mix_outputs(features, numerics::symmetric_square_root(u), labels.cols());
  const VectorXd sizes = w.colwise().norm();
  const numerics::OrthogonalFactor rotation = numerics::OrthogonalFactor::factor(w, true);
  const VectorXd turned = rotation.rotate(labels.reshaped());
  const double rounding = static_cast<double>(w.rows()) * std::numeric_limits<double>::epsilon();
  double share = 0.0;
  for (Index i = 0; i < rotation.r().rows(); ++i) {
    const double size = sizes[rotation.order()[static_cast<std::size_t>(i)]];
    if (std::abs(rotation.r()(i, i)) > rounding * size) share += turned[i] * turned[i];
  }
  return share / labels.squaredNorm();
}

}  // namespace headway::theory
