// The example of two paths in the lecture notes (eq. 90): path 1 carries signal and noise, path 2
// the same noise, and the labels are linear in the signal.
#include <array>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "headway/theory/finite_width.hpp"
#include "saddle_points.hpp"
#include "theory_problems.hpp"

using namespace headway;
using Catch::Matchers::WithinAbs;
using test::relative_error;

namespace {

struct TwoPaths {
  test::TheoryCase problem;
  VectorXd beta;
};

TwoPaths two_paths(Index width, Index examples, Index n0, double size, Rng& rng) {
  TwoPaths made;
  made.problem.n0 = n0;
  made.problem.architecture.heads = {2};
  made.problem.architecture.widths = {width, width};
  made.problem.architecture.variances = {1, 1, 1};
  const MatrixXd signal = test::random_matrix(examples, n0, rng);
  const MatrixXd noise = test::random_matrix(examples, n0, rng);
  made.beta = test::random_matrix(n0, 1, rng).col(0);
  made.beta *= std::sqrt(size) / made.beta.norm();
  made.problem.features.resize(examples, 2 * n0);
  made.problem.features << signal + noise, noise;
  made.problem.labels = signal * made.beta;
  return made;
}

/// Squared error on new examples over the mean square of their labels. Signal and noise are
/// standard normal, so it follows from the means of the two paths' coefficients.
double test_error(const TwoPaths& made, const MatrixXd& u, double temperature) {
  const test::TheoryCase& c = made.problem;
  const MatrixXd k = test::reference_kernel(c.features, c.features, u, c.n0, 1) +
                     temperature * MatrixXd::Identity(c.labels.rows(), c.labels.rows());
  const VectorXd overlaps = c.features.transpose() * k.llt().solve(c.labels).col(0);
  const VectorXd one = overlaps.head(c.n0);
  const VectorXd two = overlaps.tail(c.n0);
  const VectorXd of_signal = u(0, 0) * one + u(0, 1) * two;
  const VectorXd of_noise = of_signal + u(1, 0) * one + u(1, 1) * two;
  return ((of_signal - made.beta).squaredNorm() + of_noise.squaredNorm()) / made.beta.squaredNorm();
}

/// Means of the two paths' weights (equal on the diagonal), of the entry between them, and of U_a.
struct Means {
  double same, between, readout;
};

Means means(const theory::OrderParameters& u) {
  return {u.at(1)(0, 0), u.at(1)(0, 1), u.at(2)(0, 0)};
}

/// The relative error of U_1 in the Frobenius norm.
double off(const Means& found, const Means& exact) {
  return std::hypot(found.same - exact.same, found.between - exact.between) /
         std::hypot(exact.same, exact.between);
}

/// Of the saddle point, and with its 1/N correction, at N = 10, N_0 = 3, P = 9 and |b|^2 = 6 times
/// the scale.
std::array<Means, 2> means_of_theory(int scale) {
  Rng rng(5, StreamPurpose::kTests);
  const test::TheoryCase c = two_paths(10 * scale, 9 * scale, 3 * scale, 6.0 * scale, rng).problem;
  const theory::Action action(c.architecture, 1e-9,
                              test::kernels_of(c, theory::KernelForm::kAuto, 1e-9));
  Observer observer;
  const theory::SaddlePoint s = theory::solve_saddle_point(
      action, theory::gaussian_process_order_parameters(c.architecture), {}, observer);
  const MatrixXd hessian = action.hessian(s.order_parameters, *s.evaluation.energy);
  return {means(s.order_parameters),
          means(theory::finite_width_correction(action, s, hessian, nullptr, observer).mean)};
}

/// Those of the posterior as T -> 0, by quadrature. Given U_a = u, let g = 2 / (v^T U_1^{-1} v),
/// v = (1, -1). With s = u / N the prior W(N, s) times det(U_1)^{-N_0 / 2} is a multiple s^{-N_0}
/// of W(N - N_0, s), where g / s is chi-squared of N - N_0 - 1 degrees and independent of the rest.
/// The labels enter as exp(-|b|^2 / g).
Means exact_means(int scale) {
  const double width = 10.0 * scale;
  const double n0 = 3.0 * scale;
  double total = 0.0;
  Means sum{0.0, 0.0, 0.0};
  for (double log_u = -3.0; log_u < 3.0; log_u += 0.01) {
    for (double log_g = -4.0; log_g < 4.0; log_g += 0.01) {
      const double ua = std::exp(log_u);
      const double g = std::exp(log_g);
      const double s = ua / width;
      const double exponent = 0.5 * width * (log_u - ua) +
                              0.5 * (width - n0 - 1.0) * (log_g - std::log(s)) - 0.5 * g / s -
                              n0 * std::log(s) - 6.0 * scale / g;
      const double weight = std::exp(exponent);
      const double apart = g + s;                // on (1, -1)
      const double together = (width - n0) * s;  // on (1, 1)
      total += weight;
      sum.same += 0.5 * weight * (together + apart);
      sum.between += 0.5 * weight * (together - apart);
      sum.readout += weight * ua;
    }
  }
  return {sum.same / total, sum.between / total, sum.readout / total};
}

}  // namespace

TEST_CASE("a path that carries the noise of another one loses to their difference (eq. 90)") {
  const double size = GENERATE(6.0, 3.9);
  Rng rng(5, StreamPurpose::kTests);
  const test::TheoryCase c = two_paths(10, 9, 3, size, rng).problem;
  const theory::SaddlePoint s = test::solve(c, 1e-9);
  // The eigenvalues of U_1 follow from U_a by two quadratic equations, and U_a from their sum.
  const double kept = 1.0 - 3.0 / 10.0;
  double ua = 1.0;
  double same = 0.0;
  double apart = 0.0;
  for (int i = 0; i < 200; ++i) {
    same = ua * kept;
    apart = 0.5 * ua * (kept + std::sqrt(kept * kept + 8.0 * size / 10.0 / ua));
    ua = 0.5 * (std::sqrt(1.0 + 4.0 * (same + apart)) - 1.0);
  }
  MatrixXd expected = MatrixXd::Constant(2, 2, 0.5 * (same - apart));
  expected.diagonal().setConstant(0.5 * (same + apart));
  REQUIRE(relative_error(s.order_parameters.at(1), expected) < 1e-6);
  REQUIRE_THAT(s.order_parameters.at(2)(0, 0), Catch::Matchers::WithinRel(ua, 1e-6));
  // As the lecture notes print them.
  const bool gain = size > 5;  // at 3.9 neither gain nor loss
  REQUIRE_THAT(expected(0, 0), WithinAbs(gain ? 1.213 : 1.0, 5e-4));
  REQUIRE_THAT(expected(0, 1), WithinAbs(gain ? -0.418 : -0.3, 5e-4));
  REQUIRE_THAT(ua, WithinAbs(gain ? 1.136 : 1.0, 5e-4));
}

TEST_CASE("two paths, all sizes in proportion: the theory errs as 1/N, corrected as 1/N^2") {
  // Relative errors of U_1 in percent, as the lecture notes print them.
  const std::vector<std::array<double, 2>> printed = {{8.8, 0.36}, {4.5, 0.093}, {2.3, 0.024}};
  for (const int scale : {1, 2, 4}) {
    const Means exact = exact_means(scale);
    const auto [saddle, corrected] = means_of_theory(scale);
    const auto [of_saddle, of_corrected] = printed.at(scale / 2);
    REQUIRE_THAT(100.0 * off(saddle, exact), WithinAbs(of_saddle, 0.05));
    REQUIRE_THAT(100.0 * off(corrected, exact),
                 WithinAbs(of_corrected, of_corrected < 0.1 ? 5e-4 : 5e-3));
  }
}

TEST_CASE("two paths, fewer examples than coefficients: narrow networks predict better") {
  constexpr int kSeeds = 8;
  const double temperature = 1e-3;
  double wide = 0.0;
  std::vector<double> errors;
  for (const Index width : {1000, 40, 20}) {
    double error = 0.0;
    double square_of_fall = 0.0;
    wide = 0.0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      Rng rng(static_cast<std::uint64_t>(seed), StreamPurpose::kTests);
      const TwoPaths made = two_paths(width, 40, 30, 4.0 * 30, rng);
      const double one = test_error(
          made, test::solve(made.problem, temperature).order_parameters.at(1), temperature);
      const double other = test_error(made, MatrixXd::Identity(2, 2), temperature);
      error += one / kSeeds;
      wide += other / kSeeds;
      square_of_fall += (other - one) * (other - one) / kSeeds;
    }
    errors.push_back(error);
    // The standard error of the fall, paired by draw, is at most an eighth of it.
    const double fall = wide - error;
    REQUIRE(std::sqrt((square_of_fall - fall * fall) / (kSeeds - 1)) < 0.125 * fall);
  }
  CAPTURE(wide, errors);
  // As the lecture notes print them.
  REQUIRE_THAT(wide, WithinAbs(0.745, 0.005));
  REQUIRE_THAT(errors[0], WithinAbs(0.72, 0.005));
  REQUIRE_THAT(errors[1], WithinAbs(0.47, 0.005));
  REQUIRE_THAT(errors[2], WithinAbs(0.314, 0.005));
}

TEST_CASE("two paths: where N is small, small labels select like large ones") {
  constexpr int kSeeds = 8;
  const double temperature = 1e-3;
  for (const double size : {0.5 * 30, 4.0 * 30}) {
    double correlation = 0.0;
    double scale = 0.0;
    double error = 0.0;
    double wide = 0.0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      Rng rng(static_cast<std::uint64_t>(seed), StreamPurpose::kTests);
      const TwoPaths made = two_paths(20, 40, 30, size, rng);
      const theory::OrderParameters found = test::solve(made.problem, temperature).order_parameters;
      const MatrixXd& u = found.at(1);
      correlation += u(0, 1) / std::sqrt(u(0, 0) * u(1, 1)) / kSeeds;
      scale += found.at(2)(0, 0) / kSeeds;
      error += test_error(made, u, temperature) / kSeeds;
      wide += test_error(made, MatrixXd::Identity(2, 2), temperature) / kSeeds;
    }
    CAPTURE(size, correlation, scale, error, wide);
    // As the lecture notes print them.
    REQUIRE_THAT(correlation, WithinAbs(-0.66, 0.01));
    REQUIRE_THAT(scale, WithinAbs(size < 100.0 ? 0.52 : 1.51, 0.01));
    REQUIRE_THAT(error, WithinAbs(0.31, 0.01));
    REQUIRE(wide > 0.7);
  }
}
