#include "analysis/linear_decoder.hpp"

#include <cmath>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"

using namespace headway;
using analysis::LinearDecoder;

namespace {

MatrixXd normal_matrix(Index rows, Index columns, std::uint64_t index) {
  Rng rng(1, StreamPurpose::kTests, index);
  MatrixXd out(rows, columns);
  for (double& x : out.reshaped()) x = rng.normal();
  return out;
}

std::vector<int> random_classes(Index rows, int count, std::uint64_t index) {
  Rng rng(2, StreamPurpose::kTests, index);
  std::vector<int> out;
  for (Index i = 0; i < rows; ++i) {
    out.push_back(static_cast<int>(rng.uniform_index(static_cast<std::uint64_t>(count))));
  }
  return out;
}

/// Eight codes of three classes, and the minimum of their objective at penalty 0.05, from a
/// separate program (gradient descent to 2e-16).
const MatrixXd kCodes{{0.5, -1.0},  {1.5, 0.3}, {-0.7, 0.8}, {2.0, -0.2},
                      {-1.2, -0.5}, {0.1, 1.4}, {0.9, 0.9},  {-0.4, -1.6}};
const std::vector<int> kClasses = {0, 1, 2, 1, 0, 2, 1, 0};
const MatrixXd kMinimum{{-0.58167751, 1.3905946, -0.80891709},
                        {-1.40515294, 0.2306132, 1.17453974},
                        {0.20366017, 0.09852122, -0.30218139}};

/// The largest derivative of the objective of eight classes at a decoder's weights.
double steepest(const LinearDecoder& fit, const MatrixXd& codes, const std::vector<int>& classes,
                double penalty) {
  MatrixXd gradient;
  analysis::logistic_objective(fit.standardisation.apply(codes), classes,
                               analysis::balanced_class_weights(classes, 8), penalty, fit.weights,
                               &gradient);
  return gradient.cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

}  // namespace

TEST_CASE("a column of codes that is constant but for rounding changes no decoder") {
  const MatrixXd codes = 3.0 * normal_matrix(50, 3, 0).array() + 7.0;
  MatrixXd with_constant(50, 4);
  with_constant << codes, VectorXd::Constant(50, 0.1);
  const MatrixXd targets = codes.col(0) - 0.5 * normal_matrix(50, 1, 1);
  const LinearDecoder fit = analysis::fit_ridge(codes, targets, 0.1);
  const LinearDecoder same = analysis::fit_ridge(with_constant, targets, 0.1);
  CHECK(same.weights(3, 0) == 0.0);
  with_constant.col(3).array() += 1.0;  // on other codes
  CHECK(
      (same.scores(with_constant) - fit.scores(codes)).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <
      1e-12);
}

TEST_CASE("ridge regression of one column has its closed form") {
  // z = (x - 2) / sqrt(2/3) of 1, 2, 3: w = mean(z y) / (1 + penalty), b = mean(y).
  const MatrixXd x{{1.0}, {2.0}, {3.0}}, y{{1.0}, {5.0}, {6.0}};
  for (const double penalty : {0.0, 0.5, 4.0}) {
    const LinearDecoder fit = analysis::fit_ridge(x, y, penalty);
    const double z = 1.0 / std::sqrt(2.0 / 3.0);
    CHECK_THAT(fit.weights(0, 0),
               Catch::Matchers::WithinRel((6.0 - 1.0) * z / 3.0 / (1.0 + penalty), 1e-13));
    CHECK_THAT(fit.weights(1, 0), Catch::Matchers::WithinRel(4.0, 1e-13));
    CHECK_THAT(fit.scores(x)(1, 0), Catch::Matchers::WithinRel(4.0, 1e-13));
  }
}

TEST_CASE("ridge regression is where its gradient is zero, and finds a linear map") {
  const MatrixXd codes = normal_matrix(60, 5, 1);
  const MatrixXd map = normal_matrix(5, 2, 2);
  const MatrixXd targets = (codes * map).array() + 3.0;
  CHECK((analysis::fit_ridge(codes, targets, 1e-12).scores(codes) - targets).norm() < 1e-8);

  const MatrixXd noisy = targets + normal_matrix(60, 2, 3);
  const double penalty = 0.3;
  const LinearDecoder fit = analysis::fit_ridge(codes, noisy, penalty);
  const MatrixXd residual = fit.scores(codes) - noisy;
  const MatrixXd gradient = fit.standardisation.apply(codes).transpose() * residual / 60.0 +
                            penalty * fit.weights.topRows(5);
  CHECK(gradient.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-13);
  CHECK(residual.colwise().mean().cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-13);
}

TEST_CASE("ridge regression answers nothing outside the range of its targets") {
  // Codes that hardly vary, but for one that is not among those of the fit.
  const MatrixXd codes{{1.0}, {1.0 + 1e-6}, {1.0 - 1e-6}};
  const MatrixXd targets{{0.5, -2.0}, {1.0, -3.0}, {0.0, -1.0}};
  const LinearDecoder fit = analysis::fit_ridge(codes, targets, 1e-5);
  CHECK(fit.range == MatrixXd{{0.0, -3.0}, {1.0, -1.0}});
  const MatrixXd far{{-1.0}, {3.0}};
  CHECK(fit.scores(far).cwiseAbs().minCoeff<Eigen::PropagateNaN>() > 1e5);
  CHECK(fit.values(far) == MatrixXd{{0.0, -1.0}, {1.0, -3.0}});
  CHECK((fit.values(codes) - targets).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-4);
}

TEST_CASE("ridge regression on codes of low rank needs a penalty") {
  MatrixXd codes(20, 2);
  codes.col(0) = normal_matrix(20, 1, 4);
  codes.col(1) = 2.0 * codes.col(0);
  const MatrixXd targets = codes.col(0);
  CHECK_THROWS_AS(analysis::fit_ridge(codes, targets, 0.0), Error);
  CHECK(analysis::fit_ridge(codes, targets, 1e-3).weights.allFinite());
  CHECK_THROWS_AS(analysis::fit_ridge(codes, targets.topRows(3), 0.1), Error);
}

TEST_CASE("class weights give every class that is there the same weight") {
  const VectorXd w = analysis::balanced_class_weights({0, 0, 0, 2, 0, 2}, 4);
  CHECK(w(0) * 4 == w(2) * 2);
  CHECK(w(0) * 4 + w(2) * 2 == 6.0);
  CHECK(w(1) == 0.0);
  CHECK(w(3) == 0.0);
}

TEST_CASE("the gradient of the logistic objective is its finite difference") {
  const MatrixXd codes = normal_matrix(30, 4, 5);
  const std::vector<int> classes = random_classes(30, 3, 6);
  const VectorXd class_weights = analysis::balanced_class_weights(classes, 3);
  const MatrixXd at = normal_matrix(5, 3, 7);
  MatrixXd gradient;
  const auto value = [&](const MatrixXd& w, MatrixXd* slope) {
    return analysis::logistic_objective(codes, classes, class_weights, 0.7, w, slope);
  };
  value(at, &gradient);
  constexpr double kStep = 1e-5;
  for (Index i = 0; i < at.size(); ++i) {
    MatrixXd up = at, down = at;
    up.reshaped()(i) += kStep;
    down.reshaped()(i) -= kStep;
    const double slope = (value(up, nullptr) - value(down, nullptr)) / (2.0 * kStep);
    CHECK_THAT(gradient.reshaped()(i), Catch::Matchers::WithinAbs(slope, 1e-9));
  }
  // Scores of hundreds must not overflow.
  CHECK(std::isfinite(value(1e3 * at, &gradient)));
  CHECK(gradient.allFinite());
}

TEST_CASE("logistic regression finds the known minimum, from anywhere") {
  for (const MatrixXd& start : {MatrixXd(), MatrixXd(normal_matrix(3, 3, 8))}) {
    const LinearDecoder fit = analysis::fit_logistic(kCodes, kClasses, 3, 0.05, start);
    CHECK(fit.converged);
    CHECK(
        (fit.weights.topRows(2) - kMinimum.topRows(2)).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <
        1e-4);
    // Intercepts are known up to a common shift.
    const MatrixXd shift = fit.weights.row(2) - kMinimum.row(2);
    CHECK(shift.maxCoeff<Eigen::PropagateNaN>() - shift.minCoeff() < 1e-4);
    CHECK(fit.classes(kCodes) == kClasses);
    CHECK_THAT(analysis::logistic_objective(fit.standardisation.apply(kCodes), kClasses,
                                            analysis::balanced_class_weights(kClasses, 3), 0.05,
                                            fit.weights, nullptr),
               Catch::Matchers::WithinAbs(0.35787789944922965, 1e-9));
  }
}

TEST_CASE("nearly dependent columns of codes are fitted as fast as others") {
  // Columns of sizes 1 ... 1e-3 in a rotated basis; the classes are those of the small ones.
  const Index h = 30;
  const MatrixXd hidden = normal_matrix(400, h, 11);
  const VectorXd sizes = VectorXd::LinSpaced(h, 0.0, -3.0).unaryExpr([](double power) {
    return std::pow(10.0, power);
  });
  const MatrixXd codes = hidden * sizes.asDiagonal() * normal_matrix(h, h, 13);
  const MatrixXd scores = hidden * normal_matrix(h, 8, 12) + 3.0 * normal_matrix(400, 8, 14);
  std::vector<int> classes(400);
  for (Index i = 0; i < 400; ++i) {
    scores.row(i).maxCoeff(&classes[static_cast<std::size_t>(i)]);
  }
  const LinearDecoder fit = analysis::fit_logistic(codes, classes, 8, 1e-6);
  CHECK(fit.converged);
  CHECK(fit.iterations < 100);
  CHECK(steepest(fit, codes, classes, 1e-6) < 1e-5);
}

TEST_CASE("classes of which some are nearly certain are fitted as fast as others") {
  // Of eight classes two are told apart by a small part of a column, the others by large ones.
  const MatrixXd noise = normal_matrix(1500, 12, 21);
  MatrixXd codes = 0.3 * noise;
  std::vector<int> classes(1500);
  for (Index i = 0; i < 1500; ++i) {
    const auto c = static_cast<int>(i % 8);
    classes[static_cast<std::size_t>(i)] = c;
    codes(i, c < 2 ? 0 : c) += 4.0;
    codes(i, 9) += c == 0 ? 0.02 : 0.0;
    codes.row(i).tail(2) += codes.row(i).head(2) * (1.0 + 1e-3 * noise(i, 0));
  }
  const LinearDecoder fit = analysis::fit_logistic(codes, classes, 8, 1e-7);
  CHECK(fit.converged);
  CHECK(fit.iterations < 300);
  CHECK(steepest(fit, codes, classes, 1e-7) < 1e-5);
}

TEST_CASE("constant codes leave the intercepts of balanced classes at equal odds") {
  const MatrixXd codes = MatrixXd::Constant(10, 2, 0.3);
  const LinearDecoder fit = analysis::fit_logistic(codes, {0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, 2, 0.1);
  CHECK(fit.weights.topRows(2).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-8);
  CHECK_THAT(fit.weights(2, 0), Catch::Matchers::WithinAbs(fit.weights(2, 1), 1e-6));
}

TEST_CASE("logistic regression refuses labels of one class alone") {
  CHECK_THROWS_AS(analysis::fit_logistic(kCodes, std::vector<int>(8, 1), 3, 0.1), Error);
}
