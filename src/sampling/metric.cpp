#include "metric.hpp"

#include <fmt/format.h>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"

namespace headway::sampling {

Metric::Metric(MetricKind kind, Index dimension) : kind_(kind) {
  if (kind == MetricKind::kDiagonal) set_inverse(MatrixXd::Ones(dimension, 1));
  if (is_full_matrix(kind)) set_inverse(MatrixXd::Identity(dimension, dimension));
}

void Metric::set_inverse(const MatrixXd& inverse) {
  inverse_ = inverse;
  if (kind_ == MetricKind::kDiagonal) {
    root_ = inverse.col(0).cwiseSqrt().cwiseInverse();
  } else if (is_full_matrix(kind_)) {
    const auto factor = numerics::SpdFactor::factor(inverse);
    if (!factor) {
      throw Error(
          ErrorKind::kInternal,
          fmt::format("{} mass matrix: its inverse is not positive definite", metric_name(kind_)));
    }
    lower_ = factor->lower();
  }
}

void Metric::velocity(const VectorXd& momentum, VectorXd& velocity) const {
  switch (kind_) {
    case MetricKind::kUnit:
      velocity = momentum;
      break;
    case MetricKind::kDiagonal:
      velocity = inverse_.col(0).cwiseProduct(momentum);
      break;
    case MetricKind::kDense:
    case MetricKind::kInformation:
      velocity.noalias() = inverse_ * momentum;
      break;
  }
}

void Metric::draw_momentum(Rng& rng, VectorXd& momentum) const {
  rng.fill_normal({momentum.data(), static_cast<std::size_t>(momentum.size())});
  if (kind_ == MetricKind::kDiagonal) {
    momentum.array() *= root_.array();
  } else if (is_full_matrix(kind_)) {
    // M = (L L^T)^-1, so L^-T z ~ N(0, M).
    lower_.triangularView<Eigen::Lower>().transpose().solveInPlace(momentum);
  }
}

}  // namespace headway::sampling
