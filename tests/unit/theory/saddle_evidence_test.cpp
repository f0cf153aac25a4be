// The saddle point's log p(y) against integrals over the priors that share no code with it.
#include "headway/theory/saddle_evidence.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <numbers>
#include <vector>

#include "catch.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::kernels_of;
using test::random_case;
using theory::KernelForm;

namespace {

theory::SaddleEvidence evidence_of(const test::TheoryCase& c, double temperature,
                                   bool with_hessian = true) {
  Observer observer;
  const theory::Action action(c.architecture, temperature,
                              kernels_of(c, KernelForm::kAuto, temperature));
  const theory::SaddlePoint saddle = theory::solve_saddle_point(
      action, theory::gaussian_process_order_parameters(c.architecture), {}, observer);
  REQUIRE(saddle.summary.converged);
  const MatrixXd hessian = with_hessian
                               ? action.hessian(saddle.order_parameters, *saddle.evaluation.energy)
                               : MatrixXd();
  return theory::saddle_evidence(action, saddle, hessian);
}

/// log density of x = U for a one-dimensional Wishart(N, scale / N), that is scale / N times a
/// chi-squared number.
double log_scaled_chi_squared(double x, double n, double scale) {
  const double z = n * x / scale;
  return std::log(n / scale) + (0.5 * n - 1.0) * std::log(z) - 0.5 * z -
         0.5 * n * std::numbers::ln2 - std::lgamma(0.5 * n);
}

/// log p(y) of one layer with one head: the integral over log U_1 and log U_a by the trapezoidal
/// rule, which for such integrands is exact to rounding.
double integrated_evidence(const test::TheoryCase& c, double temperature) {
  const auto kernels = kernels_of(c, KernelForm::kStored, temperature);
  const double n1 = c.architecture.width(1), na = c.architecture.width(2);
  const double s1 = c.architecture.variance(1), sa = c.architecture.variance(2);
  constexpr double kStep = 0.02, kFrom = -6.0, kTo = 3.5;
  std::vector<double> energies;
  for (double u = kFrom; u < kTo; u += kStep) {
    energies.push_back(
        kernels->evaluate(MatrixXd::Constant(1, 1, std::exp(u)), temperature)->energy());
  }
  double total = 0.0;
  for (double a = kFrom; a < kTo; a += kStep) {
    const double weight = std::exp(a + log_scaled_chi_squared(std::exp(a), na, sa));
    for (std::size_t i = 0; i < energies.size(); ++i) {
      const double u = kFrom + kStep * static_cast<double>(i);
      const double density = u + log_scaled_chi_squared(std::exp(u), n1, s1 * std::exp(a));
      total += weight * std::exp(density - 0.5 * energies[i]);
    }
  }
  const double count = static_cast<double>(c.labels.size());
  return std::log(total * kStep * kStep) - 0.5 * count * std::log(2.0 * std::numbers::pi);
}

/// A draw of U given what is above it: Wishart(N, scale I_heads kron V / N).
MatrixXd draw_wishart(const MatrixXd& above, Index heads, double width, double scale, Rng& rng) {
  const MatrixXd v = theory::repeat_diagonal(above, heads);
  const MatrixXd g = Eigen::LLT<MatrixXd>(v).matrixL() *
                     test::random_matrix(v.rows(), static_cast<Index>(width), rng);
  return scale / width * g * g.transpose();
}

struct Estimate {
  double value = 0.0, error = 0.0;
};

/// log E_prior[exp(-energy / 2)] by draws from the prior.
Estimate sampled_evidence(const test::TheoryCase& c, double temperature, int draws) {
  const auto kernels = kernels_of(c, KernelForm::kStreamed, temperature);
  const model::Architecture& a = c.architecture;
  Rng rng(3, StreamPurpose::kTests);
  VectorXd logs(draws);
  for (double& log : logs) {
    MatrixXd u = MatrixXd::Identity(a.outputs, a.outputs);
    for (int l = a.layers() + 1; l >= 1; --l) {
      u = draw_wishart(u, l > a.layers() ? 1 : a.heads[l - 1], a.width(l), a.variance(l), rng);
    }
    log = -0.5 * kernels->evaluate(u, temperature)->energy();
  }
  const double shift = logs.maxCoeff();
  const VectorXd weights = (logs.array() - shift).exp();
  const double mean = weights.mean();
  const double deviation = std::sqrt((weights.array() - mean).square().mean() / draws);
  const double count = static_cast<double>(c.labels.size());
  return {shift + std::log(mean) - 0.5 * count * std::log(2.0 * std::numbers::pi),
          deviation / mean};
}

}  // namespace

TEST_CASE(
    "with one head the leading order's error falls as 1/N, that of Laplace's method as 1/N^2") {
  test::TheoryCase c = random_case({1}, 1, 8, 10, 41);
  constexpr double kTemperature = 0.1;
  std::vector<double> leading, laplace;
  for (const Index n : {200, 400, 800}) {
    c.architecture.widths = {n, n + n / 2};
    const double exact = integrated_evidence(c, kTemperature);
    const theory::SaddleEvidence evidence = evidence_of(c, kTemperature);
    leading.push_back(std::abs(evidence.leading_order - exact));
    laplace.push_back(std::abs(evidence.log_evidence - exact));
    CAPTURE(n, exact, evidence.leading_order, evidence.log_evidence);
    CHECK(laplace.back() < 0.1 * leading.back());
  }
  CAPTURE(leading, laplace);
  for (std::size_t i = 0; i + 1 < leading.size(); ++i) {
    CHECK_THAT(leading[i] / leading[i + 1], Catch::Matchers::WithinAbs(2.0, 0.1));  // 1/N
    CHECK_THAT(laplace[i] / laplace[i + 1], Catch::Matchers::WithinAbs(4.0, 0.4));  // 1/N^2
  }
}

TEST_CASE("with layers, heads and outputs the evidence is the mean likelihood under the prior") {
  for (const auto& [heads, outputs] :
       std::vector<std::pair<std::vector<int>, Index>>{{{2, 2}, 1}, {{2}, 2}, {{1, 2}, 3}}) {
    test::TheoryCase c = random_case(heads, outputs, 4, 6, 43);
    c.architecture.widths.clear();
    for (int l = 0; l <= c.architecture.layers(); ++l) c.architecture.widths.push_back(80 + 20 * l);
    const Estimate exact = sampled_evidence(c, 0.2, 10000);
    const theory::SaddleEvidence evidence = evidence_of(c, 0.2);
    CAPTURE(exact.value, exact.error, evidence.log_evidence, evidence.leading_order);
    CHECK(exact.error < 0.01);
    CHECK(std::abs(evidence.log_evidence - exact.value) < 5 * exact.error);
  }
}

TEST_CASE("at infinite temperature the evidence is that of pure noise, N(0, T)") {
  const test::TheoryCase c = random_case({2, 2}, 2, 10, 5, 47);
  constexpr double kTemperature = 1e7;
  const double noise = -0.5 * (20 * std::log(2 * std::numbers::pi * kTemperature) +
                               c.labels.squaredNorm() / kTemperature);
  const theory::SaddleEvidence evidence = evidence_of(c, kTemperature);
  CHECK_THAT(evidence.leading_order, Catch::Matchers::WithinAbs(noise, 1e-4));
  CHECK_THAT(evidence.log_evidence, Catch::Matchers::WithinAbs(noise, 1e-4));
}

TEST_CASE("without a positive Hessian there is the leading order alone") {
  const test::TheoryCase c = random_case({2}, 1, 10, 5, 47);
  const theory::SaddleEvidence with = evidence_of(c, 0.1);
  const theory::SaddleEvidence without = evidence_of(c, 0.1, false);
  CHECK(without.leading_order == with.leading_order);
  CHECK(with.is_laplace());
  CHECK(std::isfinite(with.log_evidence));
  CHECK(without.method == "leading_order");
  CHECK(without.log_evidence == without.leading_order);
}
