#include "posterior/feature_energy.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "headway/model/path_index.hpp"

namespace headway::posterior {
namespace {

using numerics::Transpose;
using ConstMap = Eigen::Map<const MatrixXd>;

constexpr double kToleratedRounding = 1e-8;  // of a pivot
constexpr double kFeatureAdvantage = 0.7;    // from this D / (P C) on D x D matrices are no gain

/// Whether rounding of K, or of Y^T Y, shows beside T. `squares`: what its diagonal is known to eps
/// of.
bool loses_digits(const numerics::SpdFactor& factor, const VectorXd& squares) {
  const double lost = (squares.array() / factor.lower().diagonal().array().square()).maxCoeff();
  return !(std::numeric_limits<double>::epsilon() * lost <= kToleratedRounding);
}

}  // namespace

std::optional<FeatureEnergy> FeatureEnergy::evaluate(const MatrixXd& features,
                                                     const MatrixXd& labels, const MatrixXd& factor,
                                                     double temperature) {
  FeatureEnergy e;
  e.examples_ = labels.rows();
  e.outputs_ = labels.cols();
  e.temperature_ = temperature;
  e.alpha_ = labels.reshaped();
  const Index rows = e.alpha_.size();
  if (rows == 0) return e;
  e.y_ = theory::mix_outputs(features, factor, e.outputs_);
  const Index columns = e.y_.cols();
  e.by_features_ = static_cast<double>(columns) < kFeatureAdvantage * static_cast<double>(rows) &&
                   temperature >= kSmallestFeatureTemperature;
  const Index size = e.by_features_ ? columns : rows;
  MatrixXd kernel(size, size);
  numerics::rank_update_lower(1.0, e.y_, e.by_features_ ? Transpose::kYes : Transpose::kNo, 0.0,
                              kernel);
  const VectorXd squares = kernel.diagonal();
  kernel.diagonal().array() += temperature;
  std::optional<numerics::SpdFactor> cholesky = numerics::SpdFactor::factor(std::move(kernel));
  if (!cholesky || loses_digits(*cholesky, squares)) {
    e.rotated_ = theory::OrthogonalRidge::factor(e.y_, e.alpha_, temperature);
    if (!e.rotated_) return std::nullopt;
    e.alpha_ = e.rotated_->dual();
    e.log_determinant_ = e.rotated_->log_determinant();
    e.quadratic_ = e.rotated_->quadratic();
    return e;
  }
  e.factor_ = *std::move(cholesky);
  e.log_determinant_ = e.factor_.log_determinant();
  if (e.by_features_) {
    e.log_determinant_ += static_cast<double>(rows - columns) * std::log(temperature);
    const VectorXd told = numerics::multiply_vector(e.y_, Transpose::kYes, e.alpha_);
    const VectorXd weights = e.factor_.solve(told);
    e.alpha_ = (e.alpha_ - numerics::multiply_vector(e.y_, Transpose::kNo, weights)) / temperature;
  } else {
    e.alpha_ = e.factor_.solve(e.alpha_);
  }
  e.quadratic_ = labels.reshaped().dot(e.alpha_);
  return e;
}

void FeatureEnergy::gradient(const MatrixXd& features, const MatrixXd& factor,
                             MatrixXd& over_factor, MatrixXd& over_features) const {
  over_factor.setZero(factor.rows(), factor.cols());
  over_features.setZero(features.rows(), features.cols());
  if (examples_ == 0) return;
  // (K + T)^{-1} Y, or Y (T + Y^T Y)^{-1}, which is the same.
  MatrixXd slope = rotated_       ? rotated_->solved()
                   : by_features_ ? MatrixXd(factor_.solve(y_.transpose()).transpose())
                                  : factor_.solve(y_);
  const VectorXd told =
      rotated_ ? rotated_->told() : numerics::multiply_vector(y_, Transpose::kYes, alpha_);
  slope.noalias() -= alpha_ * told.transpose();
  slope *= 2.0;
  const Index paths = factor.rows() / outputs_;
  const Index entries = features.size() / paths;
  const ConstMap columns(features.data(), entries, paths);
  Eigen::Map<MatrixXd> columns_slope(over_features.data(), entries, paths);
  MatrixXd part;
  for (Index c = 0; c < outputs_; ++c) {
    part = slope.middleRows(c * examples_, examples_);
    const ConstMap mixed(part.data(), entries, factor.cols());
    MatrixXd of_output(paths, factor.cols());
    numerics::multiply(1.0, columns, Transpose::kYes, mixed, Transpose::kNo, 0.0, of_output);
    over_factor(Eigen::seqN(c, paths, outputs_), Eigen::all) = of_output;
    numerics::multiply(1.0, mixed, Transpose::kNo, model::output_rows(factor, outputs_, c),
                       Transpose::kYes, 1.0, columns_slope);
  }
}

MatrixXd FeatureEnergy::weight_moments() const {
  const Index columns = y_.cols();
  MatrixXd moments;
  if (by_features_ && !rotated_) {  // T (T + Y^T Y)^{-1}
    moments = temperature_ * factor_.inverse();
  } else {
    MatrixXd half = rotated_ ? rotated_->half() : y_;
    if (!rotated_) factor_.half_solve(half);
    moments = MatrixXd::Identity(columns, columns);
    numerics::multiply(-1.0, half, Transpose::kYes, half, Transpose::kNo, 1.0, moments);
  }
  const VectorXd mean = numerics::multiply_vector(y_, Transpose::kYes, alpha_);
  return moments + mean * mean.transpose();
}

VectorXd FeatureEnergy::draw_weights(Rng& rng) const {
  const VectorXd told =
      rotated_ ? rotated_->told() : numerics::multiply_vector(y_, Transpose::kYes, alpha_);
  if (by_features_ && !rotated_) {  // their precision is (T + Y^T Y) / T
    MatrixXd noise = standard_normals(rng, y_.cols());
    factor_.half_solve_transposed(noise);
    return told + std::sqrt(temperature_) * noise.col(0);
  }
  // The mean, and what is left of a draw from the prior: w' - Y^T (K + T)^{-1} (Y w' + noise).
  const VectorXd prior = standard_normals(rng, y_.cols());
  const VectorXd seen = numerics::multiply_vector(y_, Transpose::kNo, prior) +
                        std::sqrt(temperature_) * standard_normals(rng, y_.rows());
  const VectorXd explained =
      rotated_ ? VectorXd(rotated_->solved().transpose() * seen)
               : numerics::multiply_vector(y_, Transpose::kYes, factor_.solve(seen).col(0));
  return prior + told - explained;
}

theory::Prediction FeatureEnergy::predict(const MatrixXd& features, const MatrixXd& factor) const {
  const Index count = features.rows();
  const MatrixXd y = theory::mix_outputs(features, factor, outputs_);
  theory::Prediction prediction;
  prediction.mean = MatrixXd::Zero(count, outputs_);
  prediction.variance = y.rowwise().squaredNorm().reshaped(count, outputs_);
  if (examples_ == 0) return prediction;
  if (rotated_) {
    prediction.mean.reshaped() = y * rotated_->told();
    prediction.variance.reshaped() = rotated_->variance(y);
    return prediction;
  }
  prediction.mean.reshaped() = numerics::multiply_vector(
      y, Transpose::kNo, numerics::multiply_vector(y_, Transpose::kYes, alpha_));
  if (by_features_) {  // T y*^T (T + Y^T Y)^{-1} y*
    MatrixXd half = y.transpose();
    factor_.half_solve(half);
    prediction.variance =
        temperature_ * half.colwise().squaredNorm().transpose().reshaped(count, outputs_);
  } else {
    MatrixXd half(y_.rows(), y.rows());
    numerics::multiply(1.0, y_, Transpose::kNo, y, Transpose::kYes, 0.0, half);
    factor_.half_solve(half);
    prediction.variance.reshaped() -= half.colwise().squaredNorm().transpose();
    prediction.variance = prediction.variance.cwiseMax(0.0);
  }
  return prediction;
}

VectorXd standard_normals(Rng& rng, Index count) {
  VectorXd z(count);
  rng.fill_normal({z.data(), static_cast<std::size_t>(count)});
  return z;
}

MatrixXd network_output(const MatrixXd& features, const MatrixXd& factor, Index outputs,
                        const VectorXd& weights) {
  return (theory::mix_outputs(features, factor, outputs) * weights)
      .reshaped(features.rows(), outputs);
}

}  // namespace headway::posterior
