#include "headway/predictor.hpp"

#include <cmath>
#include <numbers>

namespace headway::theory {

PredictorStatistics predictor_statistics(const Prediction& prediction, const MatrixXd& labels) {
  PredictorStatistics s;
  const Index n = labels.rows();
  if (n == 0 || prediction.mean.rows() != n) return s;
  const MatrixXd& mean = prediction.mean;
  s.mean_squared_error = (mean - labels).array().square().mean();
  s.squared_bias = s.mean_squared_error;
  const bool with_variance = prediction.variance.rows() == n;
  if (with_variance) s.predictor_variance = prediction.variance.mean();
  if (!labels_are_classes(labels)) return s;
  if (names_classes(mean)) s.accuracy = right_answers(mean, labels).mean();
  if (labels.cols() != 1 || !with_variance) return s;
  double probability = 0.0;
  for (Index i = 0; i < n; ++i) {
    if (std::isnan(prediction.variance(i, 0))) return s;
    const double margin = labels(i, 0) * mean(i, 0);
    const double sd = std::sqrt(prediction.variance(i, 0));
    // Phi(margin / sd), with the limits 0, 1/2, 1 when the variance is 0
    const double sign = margin > 0.0 ? 1.0 : margin < 0.0 ? -1.0 : 0.0;
    const double z = sd > 0.0 ? margin / sd : sign * 1e300;
    probability += 0.5 * std::erfc(-z / std::numbers::sqrt2);
  }
  s.right_sign_probability = probability / static_cast<double>(n);
  return s;
}

MatrixXd squared_error_gradient(const EnergyState& state, const MatrixXd& u,
                                const MatrixXd& features, const MatrixXd& labels) {
  // eq. 66: e = 2 (f - y) / (examples C), t_{pi,c} = X*_pi^T e_c, gradient sym((t - Z (t U))^T v).
  const MatrixXd& v = state.projected_dual();
  const Index n0 = v.rows();
  const Index outputs = labels.cols();
  const MatrixXd error =
      2.0 / static_cast<double>(labels.size()) * (mean_from_dual(features, v, u) - labels);
  MatrixXd t(n0, v.cols());
  for (Index a = 0; a < v.cols() / outputs; ++a) {
    t.middleCols(a * outputs, outputs) = features.middleCols(a * n0, n0).transpose() * error;
  }
  const MatrixXd mixed = t * u;
  const MatrixXd z =
      state.apply_projected_inverse(Eigen::Map<const MatrixXd>(mixed.data(), mixed.size(), 1));
  const MatrixXd gradient =
      (t - Eigen::Map<const MatrixXd>(z.data(), n0, v.cols())).transpose() * v;
  return 0.5 * (gradient + gradient.transpose());
}

}  // namespace headway::theory
