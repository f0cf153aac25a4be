// Distributions with known answers for the tests of the samplers.
#pragma once

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <utility>

#include "headway/core/rng.hpp"
#include "headway/sampling/target.hpp"

namespace headway::testing {

/// A target whose density is any function.
class FunctionTarget : public sampling::Target {
 public:
  using Function =
      std::function<double(const Eigen::Ref<const VectorXd>&, Eigen::Ref<VectorXd> gradient)>;
  FunctionTarget(Index dimension, Function function)
      : dimension_(dimension), function_(std::move(function)) {}
  [[nodiscard]] Index dimension() const override { return dimension_; }
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    return function_(q, gradient);
  }
  [[nodiscard]] std::unique_ptr<sampling::Target> clone() const override {
    return std::make_unique<FunctionTarget>(*this);
  }

 private:
  Index dimension_;
  Function function_;
};

/// N(mean, covariance).
class GaussianTarget : public sampling::Target {
 public:
  GaussianTarget(VectorXd mean, const MatrixXd& covariance)
      : mean_(std::move(mean)),
        covariance_(covariance),
        precision_(covariance.llt().solve(MatrixXd::Identity(mean_.size(), mean_.size()))),
        work_(mean_.size()) {}
  [[nodiscard]] Index dimension() const override { return mean_.size(); }
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    work_ = mean_ - q;
    gradient.noalias() = precision_ * work_;
    return -0.5 * work_.dot(gradient);
  }
  [[nodiscard]] std::unique_ptr<sampling::Target> clone() const override {
    return std::make_unique<GaussianTarget>(*this);
  }
  [[nodiscard]] bool provides_information() const override { return true; }
  [[nodiscard]] MatrixXd information(const Eigen::Ref<const VectorXd>& /*q*/) override {
    return precision_;
  }
  [[nodiscard]] const VectorXd& mean() const { return mean_; }
  [[nodiscard]] const MatrixXd& covariance() const { return covariance_; }

 private:
  VectorXd mean_;
  MatrixXd covariance_, precision_;
  VectorXd work_;
};

/// A Gaussian with scales from 0.3 to 3 and correlations of all signs, the same for the same d.
inline GaussianTarget correlated_gaussian(Index d) {
  Rng rng(5, StreamPurpose::kTests, static_cast<std::uint64_t>(d));
  MatrixXd mixing(d, d);
  VectorXd mean(d);
  for (double& x : mixing.reshaped()) x = rng.normal();
  for (double& x : mean) x = 2.0 * rng.normal();
  MatrixXd covariance = mixing * mixing.transpose() / static_cast<double>(d);
  covariance.diagonal().array() += 0.3;
  for (Index i = 0; i < d; ++i) {
    const double scale = 0.3 * std::pow(10.0, d > 1 ? static_cast<double>(i) / (d - 1.0) : 0.5);
    covariance.row(i) *= scale;
    covariance.col(i) *= scale;
  }
  return GaussianTarget(mean, covariance);
}

/// y_i ~ Poisson(lambda_i), lambda_i ~ Gamma(shape, rate) with conjugate posterior, in coordinates
/// q with log lambda = A q, A a shear: two correlated, skew coordinates.
class GammaPoissonTarget : public sampling::Target {
 public:
  static constexpr double kShape = 3.0;
  static constexpr double kRate = 1.5;
  [[nodiscard]] Index dimension() const override { return 2; }
  /// Draws lambda from the prior, y from the likelihood; returns q of that lambda.
  VectorXd simulate(Rng& rng) {
    Eigen::Vector2d log_rate;
    for (Index i = 0; i < 2; ++i) {
      const double lambda = rng.gamma(kShape) / kRate;
      log_rate[i] = std::log(lambda);
      double count = -1.0;  // Poisson by its waiting times
      for (double time = 0.0; time < lambda; ++count) time -= std::log(rng.uniform());
      counts_[i] = count;
    }
    VectorXd q(2);
    q << log_rate[0] - kShear * log_rate[1], log_rate[1];
    return q;
  }
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    const double first = q[0] + kShear * q[1];
    const double g0 = shape(0) - rate() * std::exp(first);
    const double g1 = shape(1) - rate() * std::exp(q[1]);
    gradient << g0, kShear * g0 + g1;
    return shape(0) * first - rate() * std::exp(first) + shape(1) * q[1] - rate() * std::exp(q[1]);
  }
  [[nodiscard]] std::unique_ptr<sampling::Target> clone() const override {
    return std::make_unique<GammaPoissonTarget>(*this);
  }
  /// lambda_i of q.
  static double lambda(const VectorXd& q, Index i) {
    return std::exp(i == 0 ? q[0] + kShear * q[1] : q[1]);
  }
  /// The posterior is Gamma(shape(i), rate()).
  [[nodiscard]] double shape(Index i) const { return kShape + counts_[i]; }
  [[nodiscard]] double rate() const { return kRate + 1.0; }

 private:
  static constexpr double kShear = 0.8;
  Eigen::Vector2d counts_ = Eigen::Vector2d::Zero();
};

/// Exact Gibbs sweeps over two Gaussian coordinates of correlation rho.
class GibbsPairTarget : public sampling::SweepTarget {
 public:
  static constexpr double kRho = 0.6;
  [[nodiscard]] Index dimension() const override { return 2; }
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    const double scale = 1.0 / (1.0 - kRho * kRho);
    gradient << scale * (kRho * q[1] - q[0]), scale * (kRho * q[0] - q[1]);
    return 0.5 * q.dot(gradient);
  }
  double sweep(Rng& rng, Eigen::Ref<VectorXd> q) override {
    const double sd = std::sqrt(1.0 - kRho * kRho);
    q[0] = kRho * q[1] + sd * rng.normal();
    q[1] = kRho * q[0] + sd * rng.normal();
    return std::numeric_limits<double>::quiet_NaN();
  }
  [[nodiscard]] std::unique_ptr<sampling::Target> clone() const override {
    return std::make_unique<GibbsPairTarget>(*this);
  }
};

/// Two modes at +-distance, which no trajectory joins. The prior is N(0, distance^2) in each of two
/// coordinates. The likelihood is a mixture of two narrow Gaussians in the first coordinate, with
/// shares 1/3 (at -distance) and 2/3. The evidence is known.
class TwoModesTarget : public sampling::TemperedTarget {
 public:
  static constexpr double kDistance = 3.0;
  static constexpr double kWidth = 0.25;
  static constexpr double kShare = 2.0 / 3.0;  // of the mode at +distance

  [[nodiscard]] Index dimension() const override { return 2; }
  void set_inverse_temperature(double beta) override { beta_ = beta; }
  double log_likelihood(const Eigen::Ref<const VectorXd>& q) override {
    double slope = 0.0;
    return mixture(q[0], slope);
  }
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    double slope = 0.0;
    const double l = mixture(q[0], slope);
    const double precision = 1.0 / (kDistance * kDistance);
    gradient = -precision * q;
    gradient[0] += beta_ * slope;
    return -0.5 * precision * q.squaredNorm() + beta_ * l;
  }
  double sweep(Rng& rng, Eigen::Ref<VectorXd> q) override {
    draw_start(rng, q);
    return 0.0;
  }
  bool draw_start(Rng& rng, Eigen::Ref<VectorXd> q) override {
    for (double& x : q) x = kDistance * rng.normal();
    return true;
  }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<TwoModesTarget>(*this);
  }
  /// log int prior likelihood: N(+-distance; 0, distance^2 + width^2) times the mixture's width.
  [[nodiscard]] static double log_evidence() {
    const double variance = kDistance * kDistance + kWidth * kWidth;
    return -0.5 * kDistance * kDistance / variance + 0.5 * std::log(kWidth * kWidth / variance);
  }

 protected:
  double beta_ = 1.0;

 private:
  static double mixture(double x, double& slope) {
    const double a = -0.5 * std::pow((x - kDistance) / kWidth, 2) + std::log(kShare);
    const double b = -0.5 * std::pow((x + kDistance) / kWidth, 2) + std::log(1.0 - kShare);
    const double top = std::max(a, b);
    const double sum = top + std::log(std::exp(a - top) + std::exp(b - top));
    const double share = std::exp(a - sum);
    slope = (-(x - kDistance) * share - (x + kDistance) * (1.0 - share)) / (kWidth * kWidth);
    return sum;
  }
};

}  // namespace headway::testing
