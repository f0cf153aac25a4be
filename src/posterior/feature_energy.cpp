#include "posterior/feature_energy.hpp"

#include <cmath>
#include <utility>

#include "headway/model/path_index.hpp"

namespace headway::posterior {
namespace {

using numerics::Transpose;
using ConstMap = Eigen::Map<const MatrixXd>;

constexpr double kFeatureAdvantage = 0.7;  // from this D / (P C) on D x D matrices are no gain

// Y of these features. In memory the block of a path is one column of length P N_0, so one product
// mixes all paths.
MatrixXd mix(const MatrixXd& features, const MatrixXd& factor, Index outputs) {
  const Index paths = factor.rows() / outputs;
  const Index examples = features.rows();
  const Index entries = features.size() / std::max<Index>(1, paths);
  const ConstMap columns(features.data(), entries, paths);
  MatrixXd y(examples * outputs, features.cols() / paths * factor.cols());
  if (outputs == 1) {
    Eigen::Map<MatrixXd> mixed(y.data(), entries, factor.cols());
    numerics::multiply(1.0, columns, Transpose::kNo, factor, Transpose::kNo, 0.0, mixed);
    return y;
  }
  MatrixXd mixed(examples, y.cols());
  for (Index c = 0; c < outputs; ++c) {
    numerics::multiply(1.0, columns, Transpose::kNo, model::output_rows(factor, outputs, c),
                       Transpose::kNo, 0.0,
                       Eigen::Map<MatrixXd>(mixed.data(), entries, factor.cols()));
    y.middleRows(c * examples, examples) = mixed;
  }
  return y;
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
  e.y_ = mix(features, factor, e.outputs_);
  const Index columns = e.y_.cols();
  e.by_features_ = static_cast<double>(columns) < kFeatureAdvantage * static_cast<double>(rows) &&
                   temperature >= kSmallestFeatureTemperature;
  const Index size = e.by_features_ ? columns : rows;
  MatrixXd kernel(size, size);
  numerics::rank_update_lower(1.0, e.y_, e.by_features_ ? Transpose::kYes : Transpose::kNo, 0.0,
                              kernel);
  kernel.diagonal().array() += temperature;
  std::optional<numerics::SpdFactor> cholesky = numerics::SpdFactor::factor(std::move(kernel));
  if (!cholesky) return std::nullopt;
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
  MatrixXd slope =
      by_features_ ? MatrixXd(factor_.solve(y_.transpose()).transpose()) : factor_.solve(y_);
  const VectorXd told = numerics::multiply_vector(y_, Transpose::kYes, alpha_);
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

theory::Prediction FeatureEnergy::predict(const MatrixXd& features, const MatrixXd& factor) const {
  const Index count = features.rows();
  const MatrixXd y = mix(features, factor, outputs_);
  theory::Prediction prediction;
  prediction.mean = MatrixXd::Zero(count, outputs_);
  prediction.variance = y.rowwise().squaredNorm().reshaped(count, outputs_);
  if (examples_ == 0) return prediction;
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

}  // namespace headway::posterior
