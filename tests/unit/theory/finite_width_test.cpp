#include "headway/theory/finite_width.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/theory/repeated_predictor.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::random_case;

namespace {

constexpr double kT = 0.3;
constexpr Index kTests = 5;

/// Mean and variance of f on each test example.
struct Moments {
  VectorXd mean, variance;
};

/// Posterior moments of a network with one head, where U_1 and U_a are numbers: the densities of
/// eqs. 34 and 35, summed over a grid in (log U_1, log U_a). In these coordinates the volume term
/// of eq. 35 cancels, and the density is exp(-S / 2).
Moments by_quadrature(const test::TheoryCase& c, const MatrixXd& test_features) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(c.features * c.features.transpose());
  const VectorXd labels = eigen.eigenvectors().transpose() * c.labels;
  const MatrixXd cross =
      eigen.eigenvectors().transpose() * c.features * test_features.transpose();  // at U_1 = 1
  const VectorXd prior = test_features.rowwise().squaredNorm();
  const double width = static_cast<double>(c.architecture.widths[0]);
  const double readout = static_cast<double>(c.architecture.widths[1]);
  const double s1 = c.architecture.variances[1];
  const double sa = c.architecture.variances[2];
  constexpr int kPoints = 600;
  constexpr double kReach = 14.0;  // standard deviations to either side
  const double deviation = 1.5 * std::sqrt(2.0 / std::min(width, readout));
  double total = 0.0;
  VectorXd mean = VectorXd::Zero(test_features.rows());
  VectorXd square = mean;
  VectorXd variance = mean;
  const auto at = [&](int i) { return deviation * kReach * (2.0 * i / kPoints - 1.0); };
  for (int i = 0; i <= kPoints; ++i) {
    const double u = s1 * sa * std::exp(at(i));
    const VectorXd inverse = (u * eigen.eigenvalues().array() + kT).inverse();
    const double energy = -inverse.array().log().sum() + labels.cwiseAbs2().dot(inverse);
    double weight = 0.0;
    for (int j = 0; j <= kPoints; ++j) {
      const double ua = sa * std::exp(at(j));
      const double entropy =
          readout * (ua / sa - std::log(ua)) + width * (u / (s1 * ua) - std::log(u) + std::log(ua));
      const double least = readout * (1.0 - std::log(sa)) + width * (1.0 - std::log(s1));
      weight += std::exp(-0.5 * (energy + entropy - least));
    }
    const VectorXd m = u * cross.transpose() * inverse.cwiseProduct(labels);
    const VectorXd v = u * prior - u * u * cross.cwiseAbs2().transpose() * inverse;
    total += weight;
    mean += weight * m;
    square += weight * m.cwiseAbs2();
    variance += weight * v;
  }
  mean /= total;
  return {mean, variance / total + square / total - mean.cwiseAbs2()};
}

/// The largest error of a variance, as a part of it.
double largest_error(const MatrixXd& variance, const Moments& exact) {
  return (variance.col(0) - exact.variance)
      .cwiseQuotient(exact.variance)
      .cwiseAbs()
      .maxCoeff<Eigen::PropagateNaN>();
}

/// The reason of a correction that is not defined, by the first U of its mean that has no Cholesky
/// factor.
std::string why_undefined(const theory::OrderParameters& mean) {
  const int layers = static_cast<int>(mean.layers.size());
  for (int l = 1; l <= layers + 1; ++l) {
    if (layers == 0 || Eigen::LLT<MatrixXd>(mean.at(l)).info() == Eigen::Success) continue;
    return "the corrected U_" + (l <= layers ? std::to_string(l) : std::string("a")) +
           " is not positive definite: the width is too small for a first correction";
  }
  return "the Hessian at the saddle point is not positive definite";
}

/// The correction, and the parts of the second line of eq. 41.
struct Corrected {
  theory::FiniteWidthCorrection correction;
  theory::PredictionFluctuation parts;
  MatrixXd at_mean;  // variance(E[U])
};

Corrected correct(const test::TheoryCase& c, const MatrixXd& test_features, double temperature) {
  const auto kernels = test::kernels_of(c, theory::KernelForm::kStreamed, temperature);
  const theory::Action action(c.architecture, temperature, kernels);
  Observer observer;
  const theory::SaddlePoint s = theory::solve_saddle_point(
      action, theory::gaussian_process_order_parameters(c.architecture), {}, observer);
  const theory::RepeatedPredictor test(kernels, std::make_shared<const MatrixXd>(test_features),
                                       3.0);
  const MatrixXd hessian = action.hessian(s.order_parameters, *s.evaluation.energy);
  Corrected result;
  result.correction = theory::finite_width_correction(action, s, hessian, &test, observer);
  if (!result.correction.defined) return result;
  const MatrixXd& u = s.order_parameters.layers.front();
  const MatrixXd& mean = result.correction.mean.layers.front();
  const Index first = numerics::symmetric_size(u.rows());
  const MatrixXd sigma = 2.0 * hessian.inverse().topLeftCorner(first, first);
  result.parts =
      test.fluctuation(*s.evaluation.energy, u, MatrixXd(sigma.llt().matrixL()), observer);
  result.at_mean = test.predict(*kernels->evaluate(mean, temperature), mean).variance;
  return result;
}

}  // namespace

TEST_CASE("the error of the corrected variance falls as the square of the width") {
  test::TheoryCase c = random_case({1}, 1, 12, 4, 21);
  Rng rng(3, StreamPurpose::kTests);
  const MatrixXd test_features = test::random_matrix(kTests, 4, rng) / 2.0;
  std::vector<double> errors;
  std::vector<double> without;  // the curvature of the variance
  for (const Index width : {100, 200, 400, 800}) {
    c.architecture.widths = {width, width + width / 2};
    const Corrected corrected = correct(c, test_features, kT);
    REQUIRE(corrected.correction.defined);
    const MatrixXd& variance = corrected.correction.prediction.variance;
    const Moments exact = by_quadrature(c, test_features);
    errors.push_back(largest_error(variance, exact));
    without.push_back(largest_error(variance - corrected.parts.variance_shift, exact));
  }
  CAPTURE(errors, without);
  for (std::size_t k = 1; k < errors.size(); ++k) {
    CHECK_THAT(errors[k - 1] / errors[k], Catch::Matchers::WithinAbs(4.0, 0.6));
    CHECK_THAT(without[k - 1] / without[k], Catch::Matchers::WithinAbs(2.0, 0.3));
  }
}

TEST_CASE("a corrected variance is undefined where the expansion makes it negative") {
  Index negative = 0, undefined = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    test::TheoryCase c = random_case({2, 2}, 1, 4, 3, seed);
    c.architecture.widths = {1, 1, 1};
    Rng rng(seed, StreamPurpose::kTests);
    const MatrixXd test_features = test::random_matrix(20, c.features.cols(), rng) / 3.0;
    const Corrected corrected = correct(c, test_features, 0.9);
    if (!corrected.correction.defined) {
      ++undefined;
      CHECK(corrected.correction.reason == why_undefined(corrected.correction.mean));
      CHECK(corrected.correction.prediction.mean.size() == 0);
      continue;
    }
    CHECK(corrected.correction.reason.empty());
    const MatrixXd sum =
        corrected.at_mean + corrected.parts.mean_variance + corrected.parts.variance_shift;
    const MatrixXd& variance = corrected.correction.prediction.variance;
    for (Index i = 0; i < sum.size(); ++i) {
      CHECK(std::isnan(variance(i)) == (sum(i) < 0.0));
      if (sum(i) < 0.0) {
        ++negative;
      } else {
        CHECK_THAT(variance(i), Catch::Matchers::WithinRel(sum(i), 1e-9));
      }
    }
  }
  CHECK(negative > 0);
  CHECK(undefined > 0);
}
