#include "headway/posterior/exact_chain.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/error.hpp"
#include "headway/posterior/evidence.hpp"
#include "headway/sampling/sample.hpp"
#include "theory_problems.hpp"

using namespace headway;
using posterior::BartlettChain;
using posterior::ExactChain;
using test::kernels_of;
using test::random_case;
using test::relative_error;

namespace {

ExactChain chain_of(const test::TheoryCase& c, double temperature) {
  return {c.architecture, temperature,
          kernels_of(c, c.architecture.outputs == 1 ? theory::KernelForm::kStored
                                                    : theory::KernelForm::kStreamed),
          std::make_shared<MatrixXd>(0, c.features.cols())};
}

/// Depths, outputs and widths below the number of paths (singular Wisharts) in every layer.
std::vector<test::TheoryCase> cases() {
  std::vector<test::TheoryCase> result;
  for (const auto& [heads, widths, outputs] :
       std::vector<std::tuple<std::vector<int>, std::vector<Index>, Index>>{
           {{1}, {5, 4}, 1},
           {{2, 2}, {8, 6, 7}, 1},
           {{2, 2}, {3, 1, 2}, 1},
           {{2, 1, 2}, {3, 5, 2, 4}, 1},
           {{2, 2}, {5, 3, 2}, 3}}) {
    test::TheoryCase c = random_case(heads, outputs, 6, 4, 17);
    c.architecture.widths = widths;
    result.push_back(c);
  }
  return result;
}

}  // namespace

TEST_CASE("gradient through the chain of factors and the kernel agrees with finite differences") {
  for (const test::TheoryCase& c : cases()) {
    ExactChain target = chain_of(c, 0.1);
    Rng rng(5, StreamPurpose::kTests);
    VectorXd x(target.dimension());
    REQUIRE(target.draw_start(rng, x));
    VectorXd gradient(x.size());
    const double at = target.log_density(x, gradient);
    REQUIRE(std::isfinite(at));
    VectorXd ignored(x.size());
    for (Index k = 0; k < x.size(); ++k) {
      const double h = 1e-5;
      VectorXd up = x;
      VectorXd down = x;
      up[k] += h;
      down[k] -= h;
      const double slope =
          (target.log_density(up, ignored) - target.log_density(down, ignored)) / (2 * h);
      REQUIRE_THAT(gradient[k],
                   Catch::Matchers::WithinAbs(slope, 1e-6 * std::max(1.0, std::abs(slope))));
    }
  }
}

TEST_CASE("the information is that of the Gaussian likelihood and the unit prior") {
  // F_ij = 1/2 tr(S^-1 dS/dx_i S^-1 dS/dx_j), S = K(U_1(x)) + T, by finite differences of K; plus
  // I.
  for (const test::TheoryCase& c : cases()) {
    const double temperature = 0.1;
    ExactChain target = chain_of(c, temperature);
    Rng rng(5, StreamPurpose::kTests);
    VectorXd x(target.dimension());
    REQUIRE(target.draw_start(rng, x));
    const auto kernel = [&](const VectorXd& at) {
      const MatrixXd f = target.prior().factors(at).factor.front();
      MatrixXd s = test::reference_kernel(c.features, c.features, f * f.transpose(), c.n0,
                                          c.architecture.outputs);
      s.diagonal().array() += temperature;
      return s;
    };
    const auto factor = kernel(x).ldlt();
    std::vector<MatrixXd> slopes;
    for (Index i = 0; i < x.size(); ++i) {
      const VectorXd step = 1e-5 * VectorXd::Unit(x.size(), i);
      slopes.emplace_back(factor.solve((kernel(x + step) - kernel(x - step)) / 2e-5));
    }
    MatrixXd expected = MatrixXd::Identity(x.size(), x.size());
    for (Index i = 0; i < x.size(); ++i) {
      for (Index j = 0; j < x.size(); ++j)
        expected(i, j) += 0.5 * slopes[i].cwiseProduct(slopes[j].transpose()).sum();
    }
    REQUIRE(target.provides_information());
    const MatrixXd information = target.information(x);
    REQUIRE(relative_error(information, expected) < 1e-7);
    REQUIRE(information == information.transpose());
  }
}

TEST_CASE("the number of unknowns and the rank are those of the Wishart chain") {
  test::TheoryCase c = random_case({2, 2}, 1, 6, 4, 17);
  c.architecture.widths = {10, 10, 10};
  REQUIRE(BartlettChain(c.architecture).dimension() == 10 + 3 + 1);
  c.architecture.widths = {3, 1, 2};  // r_2 = 2, m_2 = 1; r_1 = 2, m_1 = 2: 3 + 2 + 1
  REQUIRE(BartlettChain(c.architecture).dimension() == 2 * 3 + 2 * 1 + 1);
  const BartlettChain narrow(c.architecture, BartlettChain::Coordinates::kTrapezoidal);
  REQUIRE(narrow.dimension() == 6);
  REQUIRE(narrow.coordinate_names().size() == 6);
  Rng rng(5, StreamPurpose::kTests);
  VectorXd x(6);
  narrow.draw_prior(rng, x);
  const theory::OrderParameters u = BartlettChain::order_parameters(narrow.factors(x));
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(u.layers[0]);
  REQUIRE(std::abs(eigen.eigenvalues()[1]) < 1e-12);  // rank 2 of 4
  REQUIRE(eigen.eigenvalues()[2] > 1e-12);
}

TEST_CASE(
    "trapezoidal coordinates have the order parameters and the prior's law of the sampled ones") {
  test::TheoryCase c = random_case({2, 2}, 1, 6, 4, 17);
  for (const std::vector<Index>& widths :
       {std::vector<Index>{3, 1, 2}, {2, 3, 4}, {4, 2, 1}, {5, 3, 3}, {3, 9, 2}, {7, 2, 3}}) {
    CAPTURE(widths);
    c.architecture.widths = widths;
    const BartlettChain sampled(c.architecture);
    const BartlettChain flat(c.architecture, BartlettChain::Coordinates::kTrapezoidal);
    Rng rng(5, StreamPurpose::kTests);
    VectorXd x(sampled.dimension());
    // Means of coordinates and squares, of mapped draws and of the trapezoidal chain's own.
    const int draws = 4000;
    VectorXd y(flat.dimension());
    MatrixXd mapped(flat.dimension(), draws);
    MatrixXd own(flat.dimension(), draws);
    for (int i = 0; i < draws; ++i) {
      sampled.draw_prior(rng, x);
      mapped.col(i) = sampled.trapezoidal(x);
      flat.draw_prior(rng, y);
      own.col(i) = y;
      if (i >= 20) continue;
      const theory::OrderParameters one = BartlettChain::order_parameters(sampled.factors(x));
      const theory::OrderParameters other =
          BartlettChain::order_parameters(flat.factors(mapped.col(i)));
      for (std::size_t l = 0; l < one.layers.size(); ++l) {
        REQUIRE(relative_error(other.layers[l], one.layers[l]) < 1e-9);
      }
      REQUIRE(relative_error(other.readout, one.readout) < 1e-9);
    }
    for (Index k = 0; k < flat.dimension(); ++k) {
      for (const double power : {1.0, 2.0}) {
        const Eigen::ArrayXd a = mapped.row(k).array().pow(power);
        const Eigen::ArrayXd b = own.row(k).array().pow(power);
        const double variance = (a - a.mean()).square().mean() + (b - b.mean()).square().mean();
        CHECK(std::abs(a.mean() - b.mean()) < 4.5 * std::sqrt(variance / draws));
      }
    }
  }
}

TEST_CASE("prior draws have the Wishart chain's first two moments") {
  // E[U_l] = s_a^2 prod s_k^2 I at every width; Var(U_a) = 2 s_a^4 / N_a for one output.
  for (const test::TheoryCase& c : cases()) {
    const BartlettChain chain(c.architecture);
    const theory::OrderParameters expected =
        theory::gaussian_process_order_parameters(c.architecture);
    const int draws = 20000;
    Rng rng(6, StreamPurpose::kTests);
    VectorXd x(chain.dimension());
    const Index n = expected.layers[0].rows();
    MatrixXd sum = MatrixXd::Zero(n, n);
    MatrixXd squares = MatrixXd::Zero(n, n);
    double readout = 0.0;
    double readout_squares = 0.0;
    for (int i = 0; i < draws; ++i) {
      chain.draw_prior(rng, x);
      const theory::OrderParameters u = BartlettChain::order_parameters(chain.factors(x));
      sum += u.layers[0];
      squares += u.layers[0].cwiseAbs2();
      readout += u.readout(0, 0);
      readout_squares += u.readout(0, 0) * u.readout(0, 0);
    }
    const MatrixXd mean = sum / draws;
    const MatrixXd error = ((squares / draws - mean.cwiseAbs2()) / draws).cwiseSqrt();
    const MatrixXd z = (mean - expected.layers[0]).cwiseAbs().cwiseQuotient(error);
    REQUIRE(z.maxCoeff<Eigen::PropagateNaN>() < 5.5);
    const int top = c.architecture.layers() + 1;
    const double sa2 = c.architecture.variance(top);
    const double variance = readout_squares / draws - std::pow(readout / draws, 2);
    REQUIRE_THAT(variance,
                 Catch::Matchers::WithinRel(2 * sa2 * sa2 / c.architecture.width(top), 0.15));
  }
}

TEST_CASE("the log prior is normalised") {
  // One layer, one head: two independent chi variables; integrate over a grid.
  test::TheoryCase c = random_case({1}, 1, 3, 4, 17);
  c.architecture.widths = {3, 2};
  const BartlettChain chain(c.architecture);
  double total = 0.0;
  VectorXd x(2);
  VectorXd gradient(2);
  const double step = 0.05;
  for (double a = -25; a < 8; a += step) {
    for (double b = -25; b < 8; b += step) {
      x << a, b;
      total += std::exp(chain.log_prior(x, gradient)) * step * step;
    }
  }
  REQUIRE_THAT(total, Catch::Matchers::WithinRel(1.0, 1e-6));
}

TEST_CASE("evidence by bridge sampling equals the integral over the order parameters") {
  test::TheoryCase c = random_case({1}, 1, 5, 8, 23);
  c.architecture.widths = {4, 3};
  const double temperature = 0.2;
  ExactChain target = chain_of(c, temperature);
  // the integral on a grid
  VectorXd x(2);
  VectorXd gradient(2);
  double total = 0.0;
  const double step = 0.05;
  for (double a = -20; a < 10; a += step) {
    for (double b = -20; b < 10; b += step) {
      x << a, b;
      total += std::exp(target.log_density(x, gradient)) * step * step;
    }
  }
  const double exact = std::log(total) - 0.5 * 5 * std::log(2 * std::numbers::pi);
  sampling::SamplerOptions options;
  options.draws = 2000;
  options.threads = 1;
  const sampling::SamplingResult run = sampling::sample(target, options);
  MatrixXd draws(2, 8000);
  for (Index chain = 0; chain < 4; ++chain)
    draws.middleCols(chain * 2000, 2000) =
        run.state.chains[static_cast<std::size_t>(chain)].draw_matrix();
  const auto evidence_of = [&target](const MatrixXd& positions, double data_count) {
    Rng rng(1, StreamPurpose::kPrior);
    return posterior::bridge_evidence(target, positions, 4, data_count, rng);
  };
  const posterior::Evidence evidence = evidence_of(draws, 5.0);
  CAPTURE(exact, evidence.log_evidence, evidence.error);
  REQUIRE(evidence.reliable);
  REQUIRE(evidence.error < 0.05);
  const double by_chance = testing::largest_chain_z(1);
  REQUIRE(std::abs(evidence.log_evidence - exact) < by_chance * evidence.error);
  // wrong data count: a broken normalisation is seen
  const posterior::Evidence broken = evidence_of(draws, 4.0);
  REQUIRE(std::abs(broken.log_evidence - exact) > by_chance * broken.error);
  // too few draws for the dimension say so
  REQUIRE_FALSE(evidence_of(draws.leftCols(8), 5.0).reliable);
  CHECK(evidence_of(draws.leftCols(8), 5.0).reason ==
        "8 draws are too few for 2 unknowns (at least 8 in half of the draws)");
  CHECK(evidence_of(draws.leftCols(15), 5.0).reason ==
        "15 draws are too few for 2 unknowns (at least 8 in half of the draws)");
  CHECK(evidence_of(draws.leftCols(16), 5.0).reason !=
        "16 draws are too few for 2 unknowns (at least 8 in half of the draws)");
  const posterior::Evidence stuck = evidence_of(MatrixXd::Ones(2, 400), 5.0);
  CHECK_FALSE(stuck.reliable);
  CHECK(stuck.reason == "the covariance of the draws is singular");
  CHECK(std::isnan(stuck.log_evidence));
  CHECK(std::isnan(stuck.error));
  CHECK(evidence.reason.empty());
}

TEST_CASE("the exact chain refuses a temperature of 0") {
  test::TheoryCase c = random_case({2}, 1, 6, 4, 17);
  CHECK_THROWS_WITH(chain_of(c, 0.0), "model.temperature = 0: sampling needs a temperature > 0");
  const auto kernels = kernels_of(c, theory::KernelForm::kStored);
  c.architecture.heads = {3};
  CHECK_THROWS_WITH(
      ExactChain(c.architecture, 0.1, kernels, std::make_shared<MatrixXd>(0, 8)),
      "the architecture has 3 paths and 1 outputs, but the path kernels have 2 and 1");
}

TEST_CASE("the chain from Gram matrices is the one from features, above narrow layers too") {
  for (const Index outputs : {1, 2}) {
    test::TheoryCase c = random_case({2, 2}, outputs, 40, 3, 1);
    for (const std::vector<Index>& widths :
         {std::vector<Index>{20, 20, 20}, {2, 3, 5}, {1, 1, 1}}) {
      c.architecture.widths = widths;
      const auto none = std::make_shared<MatrixXd>(0, 12);
      ExactChain from_features(c.architecture, 0.1, kernels_of(c, theory::KernelForm::kStreamed),
                               none);
      ExactChain from_gram(c.architecture, 0.1, kernels_of(c, theory::KernelForm::kGram), none);
      Rng rng(3, StreamPurpose::kTests);
      VectorXd position(from_features.dimension());
      REQUIRE(from_gram.dimension() == position.size());
      for (int draw = 0; draw < 20; ++draw) {
        from_features.draw_start(rng, position);
        VectorXd expected(position.size());
        VectorXd gradient(position.size());
        const double density = from_features.log_density(position, expected);
        CAPTURE(outputs, widths[0], draw);
        CHECK_THAT(from_gram.log_density(position, gradient),
                   Catch::Matchers::WithinRel(density, 1e-9));
        CHECK(test::relative_error(gradient, expected) < 1e-9);
        CHECK(test::relative_error(from_gram.information(position),
                                   from_features.information(position)) < 1e-8);
      }
    }
  }
}

TEST_CASE("in feature space the log density of narrow layers keeps its digits at low temperature") {
  using Real = long double;
  using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  test::TheoryCase c = random_case({2, 2}, 1, 60, 3, 1);
  c.architecture.widths = {3, 2, 3};
  const Index p = c.architecture.paths();
  const Matrix x = c.features.cast<Real>();
  const Matrix y = c.labels.cast<Real>();
  for (const double t : {0.1, 1e-3, 1e-6}) {
    ExactChain chain(c.architecture, t, kernels_of(c, theory::KernelForm::kFeatureSpace, t),
                     std::make_shared<MatrixXd>(0, c.features.cols()));
    Rng rng(3, StreamPurpose::kTests);
    VectorXd position(chain.dimension());
    for (int draw = 0; draw < 10; ++draw) {
      chain.draw_start(rng, position);
      const BartlettChain::Factors factors = chain.prior().factors(position);
      const MatrixXd& f = factors.factor.front();
      REQUIRE(f.cols() < p);
      // W = Phi (F kron I) and A = W^T W + T in long double: the energy, and its slope along F,
      // 2 [Phi^T W A^{-1} - Phi^T (y - W v) / T v^T].
      Matrix lifted = Matrix::Zero(p * c.n0, f.cols() * c.n0);
      for (Index a = 0; a < p; ++a) {
        for (Index b = 0; b < f.cols(); ++b)
          lifted.block(a * c.n0, b * c.n0, c.n0, c.n0).diagonal().setConstant(f(a, b));
      }
      const Matrix w = x * lifted;
      Matrix a = w.transpose() * w;
      a.diagonal().array() += Real(t);
      const Eigen::LDLT<Matrix> factor(a);
      const Matrix v = factor.solve(w.transpose() * y);
      const Matrix rest = y - w * v;
      const Real energy = Real(x.rows() - a.rows()) * std::log(Real(t)) +
                          factor.vectorD().array().log().sum() + rest.squaredNorm() / Real(t) +
                          v.squaredNorm();
      const Matrix slope =
          Real(2) * x.transpose() *
          (w * factor.solve(Matrix::Identity(a.rows(), a.rows())) - rest / Real(t) * v.transpose());
      MatrixXd along(p, f.cols());
      for (Index i = 0; i < p; ++i) {
        for (Index j = 0; j < f.cols(); ++j)
          along(i, j) = static_cast<double>(slope.block(i * c.n0, j * c.n0, c.n0, c.n0).trace());
      }
      VectorXd expected(position.size()), gradient(position.size());
      const double prior = chain.prior().log_prior(position, expected);
      chain.prior().pull_back(factors, -0.5 * along, expected);
      CAPTURE(t, draw);
      CHECK_THAT(chain.log_density(position, gradient),
                 Catch::Matchers::WithinRel(prior - 0.5 * static_cast<double>(energy), 1e-11));
      CHECK(relative_error(gradient, expected) < std::max(1e-10, 1e-12 / t));
    }
  }
}
