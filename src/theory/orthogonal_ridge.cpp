#include "headway/theory/orthogonal_ridge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "headway/model/path_index.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::OrthogonalFactor;
using numerics::SpdFactor;
using numerics::Transpose;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// Whether a pivot is nothing but the rounding of its column, which K alone (T = 0) cannot bear.
bool is_singular(const OrthogonalFactor& rotation, const VectorXd& column_norms) {
  const MatrixXd& r = rotation.r();
  for (Index i = 0; i < r.rows(); ++i) {
    const double column = column_norms[rotation.order()[static_cast<std::size_t>(i)]];
    if (!(std::abs(r(i, i)) > static_cast<double>(rotation.rows()) * kEpsilon * column))
      return true;
  }
  return false;
}

/// [A; sqrt(T) I] by Householder reflections: the triangle R with R^T R = A^T A + T.
MatrixXd ridge_triangle(const MatrixXd& a, double temperature) {
  MatrixXd stacked = MatrixXd::Zero(a.rows() + a.cols(), a.cols());
  stacked.topRows(a.rows()) = a;
  stacked.bottomRows(a.cols()).diagonal().setConstant(std::sqrt(temperature));
  return OrthogonalFactor::factor(std::move(stacked), false).r();
}

}  // namespace

MatrixXd mix_outputs(const MatrixXd& features, const MatrixXd& factor, Index outputs) {
  // In memory the block of a path is one column of length P N_0, so one product mixes all paths.
  using ConstMap = Eigen::Map<const MatrixXd>;
  const Index paths = factor.rows() / outputs;
  const Index examples = features.rows();
  const Index entries = features.size() / std::max<Index>(1, paths);
  const ConstMap columns(features.data(), entries, paths);
  MatrixXd y(examples * outputs, features.cols() / paths * factor.cols());
  if (outputs == 1) {
    Eigen::Map<MatrixXd> mixed(y.data(), entries, factor.cols());
    multiply(1.0, columns, Transpose::kNo, factor, Transpose::kNo, 0.0, mixed);
    return y;
  }
  MatrixXd mixed(examples, y.cols());
  for (Index c = 0; c < outputs; ++c) {
    multiply(1.0, columns, Transpose::kNo, model::output_rows(factor, outputs, c), Transpose::kNo,
             0.0, Eigen::Map<MatrixXd>(mixed.data(), entries, factor.cols()));
    y.middleRows(c * examples, examples) = mixed;
  }
  return y;
}

std::optional<OrthogonalRidge> OrthogonalRidge::factor(const MatrixXd& w, const VectorXd& y,
                                                       double temperature, Index rest_rows,
                                                       double rest_square) {
  if (!w.allFinite()) return std::nullopt;
  OrthogonalRidge result;
  result.temperature_ = temperature;
  result.label_norm_ = std::hypot(y.norm(), std::sqrt(rest_square));
  result.rotation_ = OrthogonalFactor::factor(w, true);
  const MatrixXd& r = result.rotation_.r();
  const VectorXd column_norms = w.colwise().norm();
  const auto more = static_cast<double>(w.rows() - r.rows() + rest_rows);
  const bool positive = temperature > 0.0;
  if (!positive && (more > 0.0 || is_singular(result.rotation_, column_norms))) return std::nullopt;
  MatrixXd kernel(r.rows(), r.rows());
  numerics::rank_update_lower(1.0, r, Transpose::kNo, 0.0, kernel);
  kernel.diagonal().array() += temperature;
  std::optional<SpdFactor> factor = SpdFactor::factor(std::move(kernel));
  if (!factor) return std::nullopt;
  result.factor_ = *std::move(factor);
  result.rotated_labels_ = result.rotation_.rotate(y);
  result.half_labels_ = result.rotated_labels_.head(r.rows());
  result.factor_.half_solve(result.half_labels_);
  MatrixXd half = r;
  result.factor_.half_solve(half);
  result.half_.resize(half.rows(), half.cols());
  for (Index j = 0; j < half.cols(); ++j)
    result.half_.col(result.rotation_.order()[static_cast<std::size_t>(j)]) = half.col(j);
  result.told_ = result.half_.transpose() * result.half_labels_;
  result.log_determinant_ = result.factor_.log_determinant();
  result.quadratic_ = result.half_labels_.squaredNorm();
  if (more > 0.0) {
    result.log_determinant_ += more * std::log(temperature);
    const Index rest = w.rows() - r.rows();
    result.quadratic_ +=
        (result.rotated_labels_.tail(rest).squaredNorm() + rest_square) / temperature;
  }
  result.estimate_rounding(column_norms);
  return result;
}

void OrthogonalRidge::estimate_rounding(const VectorXd& column_norms) {
  MatrixXd solved = half_;  // Q^T A W
  factor_.half_solve_transposed(solved);
  MatrixXd dual = half_labels_;
  factor_.half_solve_transposed(dual);
  double alpha = dual.norm();
  const Index rest = rotation_.rows() - half_.rows();
  if (rest > 0) alpha = std::hypot(alpha, rotated_labels_.tail(rest).norm() / temperature_);
  pivot_losses_ = 2.0 * solved.colwise().norm().transpose().dot(column_norms);
  dual_losses_ = 2.0 * alpha * (told_.cwiseAbs().dot(column_norms) + label_norm_);
}

VectorXd OrthogonalRidge::dual() const {
  MatrixXd all = rotated_labels_;
  const Index k = half_.rows();
  MatrixXd top = half_labels_;
  factor_.half_solve_transposed(top);
  all.topRows(k) = top;
  if (all.rows() > k) all.bottomRows(all.rows() - k) /= temperature_;
  return rotation_.rotate_back(std::move(all));
}

MatrixXd OrthogonalRidge::solved() const {
  MatrixXd all = MatrixXd::Zero(rotation_.rows(), half_.cols());
  MatrixXd top = half_;
  factor_.half_solve_transposed(top);
  all.topRows(top.rows()) = top;
  return rotation_.rotate_back(std::move(all));
}

MatrixXd OrthogonalRidge::whiten(const MatrixXd& b) const {
  MatrixXd rotated = rotation_.rotate(b);
  const Index k = half_.rows();
  factor_.half_solve(rotated.topRows(k));
  if (rotated.rows() > k) rotated.bottomRows(rotated.rows() - k) /= std::sqrt(temperature_);
  return rotated;
}

MatrixXd OrthogonalRidge::in_pivot_order(const MatrixXd& columns) const {
  MatrixXd sorted(columns.rows(), columns.cols());
  for (Index j = 0; j < columns.cols(); ++j)
    sorted.col(j) = columns.col(rotation_.order()[static_cast<std::size_t>(j)]);
  return sorted;
}

VectorXd OrthogonalRidge::variance(const MatrixXd& w) const {
  // With Q_2 beside the rows of R, T (T + R^T R)^{-1} is the identity there. Within them it is
  // T (S^T S)^{-1}, S the triangle of [R Q_1; sqrt(T) I].
  MatrixXd x = in_pivot_order(w).transpose();
  MatrixXd core = rotation_.r();
  VectorXd result = VectorXd::Zero(w.rows());
  if (core.cols() > core.rows()) {
    const OrthogonalFactor rows = OrthogonalFactor::factor(core.transpose(), false);
    x = rows.rotate(std::move(x));
    result = x.bottomRows(x.rows() - core.rows()).colwise().squaredNorm().transpose();
    x = MatrixXd(x.topRows(core.rows()));
    core = MatrixXd(rows.r().transpose());
  }
  if (!(temperature_ > 0.0) || x.rows() == 0) return result;
  const MatrixXd triangle = ridge_triangle(core, temperature_);
  triangle.triangularView<Eigen::Upper>().transpose().solveInPlace(x);
  return result + temperature_ * x.colwise().squaredNorm().transpose();
}

}  // namespace headway::theory
