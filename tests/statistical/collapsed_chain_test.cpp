// The collapsed chain on networks and labels that are drawn from the prior (Geweke 2004): a sweep
// then leaves the joint distribution as it is, and replicates are independent, whatever the
// autocorrelation of a chain. Then the moves by themselves.
#include "headway/posterior/collapsed_chain.hpp"

#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/numerics/statistics.hpp"
#include "posterior/conditional_draws.hpp"
#include "posterior/feature_energy.hpp"
#include "weight_problems.hpp"

using namespace headway;             // NOLINT: a test
using namespace headway::posterior;  // NOLINT

namespace {

using testing::WeightProblem;

constexpr int kReplicates = 1500;
constexpr double kComparisons = 60.0;

/// What is distributed as before after a sweep.
struct Sums {
  double weight_squares = 0.0, weights = 0.0;  // B and Z_0, standard normal
  double misfit = 0.0, labels = 0.0;           // |y - f|^2 / T, chi^2
  std::vector<double> first, readout;          // tr U_1 and tr U_a
};

/// Position, and its log likelihood apart from what depends on T alone.
double misfit(CollapsedChain& chain, const VectorXd& x, double temperature, double count) {
  return -2.0 * chain.log_likelihood(x) - count * std::log(temperature);
}

/// Draws a network and labels, then sweeps with the likelihood at `beta`: labels have the noise
/// T / beta, but for the factor `wrong`.
Sums sweep_prior_draws(const WeightProblem& problem, double beta, double wrong) {
  const testing::WeightData data = testing::random_weight_data(problem);
  const Index outputs = problem.architecture.outputs, examples = problem.examples;
  const auto count = static_cast<double>(outputs * examples);
  const double noise = std::sqrt(wrong * problem.temperature / beta);
  Sums sums;
  Rng rng(51, StreamPurpose::kTests, problem.stream);
  const Index upper = BartlettChain::above(problem.architecture, 2).dimension();
  const MatrixXd& features = data.kernels->features();
  for (int r = 0; r < kReplicates; ++r) {
    const auto with = [&](const MatrixXd& labels) {
      return CollapsedChain(
          problem.architecture, problem.temperature,
          theory::make_path_kernels(features, labels, problem.architecture.paths()),
          data.test_features);
    };
    CollapsedChain none = with(MatrixXd::Zero(examples, outputs));
    VectorXd x(none.dimension());
    none.draw_start(rng, x);
    // f of the position, from the likelihood of labels 0 and of unit labels.
    const double at_zero = misfit(none, x, problem.temperature, count) * problem.temperature;
    MatrixXd labels(examples, outputs);
    for (Index i = 0; i < labels.size(); ++i) {
      MatrixXd unit = MatrixXd::Zero(examples, outputs);
      unit.reshaped()[i] = 1.0;
      CollapsedChain one = with(unit);
      const double f =
          0.5 * (at_zero + 1.0 - misfit(one, x, problem.temperature, count) * problem.temperature);
      labels.reshaped()[i] = f + noise * rng.normal();
    }
    CollapsedChain chain = with(labels);
    chain.set_inverse_temperature(beta);
    for (int i = 0; i < 3; ++i) chain.sweep(rng, x);
    sums.weight_squares += x.tail(x.size() - upper).squaredNorm();
    sums.weights += static_cast<double>(x.size() - upper);
    sums.misfit += beta * misfit(chain, x, problem.temperature, count);
    sums.labels += count;
    const PosteriorDraw draw = chain.observe(x, false);
    sums.first.push_back(draw.order_parameters.layers.front().trace());
    sums.readout.push_back(draw.order_parameters.readout.trace());
  }
  return sums;
}

double deviation(const std::vector<double>& values, double expected) {
  const numerics::Moments moments = numerics::moments(values);
  return std::abs(moments.mean - expected) / moments.standard_error();
}

bool within(double sum, double count) {
  const testing::MeanSquare bound = testing::mean_square_of_z(count);
  return sum > bound.least * count && sum < bound.most * count;
}

}  // namespace

TEST_CASE("A sweep leaves networks from the prior with labels of their own as they are") {
  for (const WeightProblem& problem : testing::weight_problems()) {
    INFO(testing::describe(problem));
    const double beta = problem.stream % 2 == 0 ? 1.0 : 0.4;
    const Sums sums = sweep_prior_draws(problem, beta, 1.0);
    CHECK(within(sums.weight_squares, sums.weights));
    CHECK(within(sums.misfit, sums.labels));
    const model::Architecture& a = problem.architecture;
    double first = static_cast<double>(a.outputs * a.paths());
    for (int l = 1; l <= a.layers() + 1; ++l) first *= a.variance(l);
    CHECK(deviation(sums.first, first) < testing::largest_z(kComparisons));
    CHECK(deviation(sums.readout, a.variance(a.layers() + 1) * static_cast<double>(a.outputs)) <
          testing::largest_z(kComparisons));
  }
}

TEST_CASE("Labels with a fifth more noise than the sampler takes them to have are noticed") {
  // Three outputs, which the features cannot fit. Where they can, a chain that mixes well hides it.
  const WeightProblem problem = testing::weight_problems()[4];
  const Sums sums = sweep_prior_draws(problem, 1.0, 1.2);
  CHECK_FALSE(within(sums.misfit, sums.labels));
}

TEST_CASE("The logarithm of a generalised inverse Gaussian has the moments of its density") {
  constexpr int kDraws = 100'000;
  Rng rng(52, StreamPurpose::kTests);
  for (const auto& [shape, a, b] : std::vector<std::tuple<double, double, double>>{
           {0.5, 1.0, 1.0}, {-3.0, 2.0, 0.1}, {0.0, 0.05, 0.02}, {40.0, 60.0, 5.0}}) {
    std::vector<double> values, inverses;
    for (int i = 0; i < kDraws; ++i) {
      const double log_v = log_inverse_gaussian(rng, shape, a, b);
      values.push_back(std::exp(0.05 * log_v));
      inverses.push_back(std::exp(-0.05 * log_v));
    }
    // E v^k = (b / a)^(k / 2) K_{shape + k}(w) / K_shape(w), w = sqrt(a b).
    const auto moment = [&, shape = shape, a = a, b = b](double k) {
      const double w = std::sqrt(a * b);
      return std::pow(b / a, 0.5 * k) * boost::math::cyl_bessel_k(std::abs(shape + k), w) /
             boost::math::cyl_bessel_k(std::abs(shape), w);
    };
    INFO("shape " << shape << " a " << a << " b " << b);
    CHECK(deviation(values, moment(0.05)) < testing::largest_z(kComparisons));
    CHECK(deviation(inverses, moment(-0.05)) < testing::largest_z(kComparisons));
  }
}

TEST_CASE("Moves along an orbit keep the function and the prior") {
  Rng rng(53, StreamPurpose::kTests);
  for (const auto& [units, inputs, rows] :
       std::vector<std::tuple<Index, Index, Index>>{{1, 3, 5}, {4, 6, 2}, {40, 2, 3}}) {
    INFO("units " << units);
    double squares = 0.0, count = 0.0;
    std::vector<double> mixed;
    for (int r = 0; r < 2000; ++r) {
      MatrixXd above = testing::random_matrix(rows, units, rng);
      MatrixXd below = testing::random_matrix(inputs, units, rng);
      const MatrixXd product = above * below.transpose();
      draw_along_orbit(rng, above, below);
      REQUIRE((above * below.transpose() - product).norm() < 1e-8 * product.norm());
      squares += above.squaredNorm() + below.squaredNorm();
      count += static_cast<double>(above.size() + below.size());
      if (units > 1) mixed.push_back(below.col(0).dot(below.col(1)));
    }
    CHECK(within(squares, count));
    if (units > 1) CHECK(deviation(mixed, 0.0) < testing::largest_z(kComparisons));
  }
}

TEST_CASE("Moves along the orbits of all layers keep what the data see, and the prior") {
  // Wide and narrow layers, two of them above each other, and several outputs.
  std::vector<model::Architecture> all;
  for (const WeightProblem& problem : testing::weight_problems())
    all.push_back(problem.architecture);
  all.push_back({{2, 2}, {3, 9, 8}, {1.0, 1.0, 1.3, 0.7}, 1});
  all.push_back({{2, 2, 2}, {3, 11, 12, 7}, {1.0, 1.0, 0.8, 1.1, 1.2}, 2});
  all.push_back({{2, 3, 2}, {3, 9, 2, 3}, {1.0, 1.0, 0.8, 1.1, 1.2}, 1});
  all.push_back({{2, 40}, {3, 45, 60}, {1.0, 1.0, 1.0, 1.0}, 1});  // more units than partners
  for (const model::Architecture& a : all) {
    const auto chain = BartlettChain::above(a, 2);
    INFO("layers " << a.layers() << ", N_2 " << a.widths[1] << ", outputs " << a.outputs);
    Rng rng(56, StreamPurpose::kTests, static_cast<std::uint64_t>(a.widths[1]));
    VectorXd x(chain.dimension());
    std::vector<std::vector<double>> traces(static_cast<std::size_t>(a.layers()));
    std::vector<double> squares, corner;
    for (int r = 0; r < kReplicates; ++r) {
      chain.draw_prior(rng, x);
      const auto factor = [&] { return chain.factors(x).factor.front(); };
      const Index rank = factor().cols(), heads = a.heads.front();
      MatrixXd below = testing::random_matrix(heads * rank, a.widths.front(), rng);
      const auto product = [&] {
        MatrixXd all_heads(heads * factor().rows(), below.cols());
        for (Index h = 0; h < heads; ++h) {
          all_heads.middleRows(h * factor().rows(), factor().rows()) =
              factor() * below.middleRows(h * rank, rank);
        }
        return all_heads;
      };
      const MatrixXd before = product(), upper = factor();
      for (int i = 0; i < 2; ++i) chain.draw_along_orbits(rng, x, below);
      REQUIRE((product() - before).norm() < 1e-7 * before.norm());
      REQUIRE((factor() - upper).norm() > 1e-6 * upper.norm());
      squares.push_back(below.squaredNorm() - static_cast<double>(below.size()));
      corner.push_back(below(0, 0) * below(below.rows() - 1, 0) - (below.rows() == 1 ? 1.0 : 0.0));
      const theory::OrderParameters u = BartlettChain::order_parameters(chain.factors(x));
      for (std::size_t l = 0; l < traces.size(); ++l) {
        traces[l].push_back(u.at(static_cast<int>(l) + 1).trace());
      }
    }
    CHECK(deviation(squares, 0.0) < testing::largest_z(kComparisons));
    CHECK(deviation(corner, 0.0) < testing::largest_z(kComparisons));
    for (std::size_t l = 0; l < traces.size(); ++l) {
      double expected = static_cast<double>(a.outputs);  // of U_{l+2}
      for (int k = static_cast<int>(l) + 2; k <= a.layers() + 1; ++k) {
        expected *=
            a.variance(k) * (k <= a.layers() ? a.heads[static_cast<std::size_t>(k - 1)] : 1);
      }
      CHECK(deviation(traces[l], expected) < testing::largest_z(kComparisons));
    }
  }
}

TEST_CASE("An elliptical slice keeps a normal density times a factor") {
  // N(0, 1) exp(-3 (x - 1)^2 / 2) is N(3/4, 1/4), from independent exact draws.
  Rng rng(54, StreamPurpose::kTests);
  std::vector<double> means, squares;
  for (int r = 0; r < 20'000; ++r) {
    VectorXd x = VectorXd::Constant(1, 0.75 + 0.5 * rng.normal());
    for (int i = 0; i < 2; ++i) {
      elliptical_slice(rng, x,
                       [](const VectorXd& at) { return -1.5 * (at[0] - 1.0) * (at[0] - 1.0); });
    }
    means.push_back(x[0]);
    squares.push_back((x[0] - 0.75) * (x[0] - 0.75));
  }
  CHECK(deviation(means, 0.75) < testing::largest_z(kComparisons));
  CHECK(deviation(squares, 0.25) < testing::largest_z(kComparisons));
}

TEST_CASE("Weights that a fit draws have its moments, in every form") {
  // More columns than rows, fewer, and features of so different size that Y is rotated.
  for (const auto& [rows, columns, large] :
       std::vector<std::tuple<Index, Index, double>>{{4, 9, 1.0}, {20, 3, 1.0}, {6, 3, 1e9}}) {
    INFO("rows " << rows << " columns " << columns << " large " << large);
    Rng rng(55, StreamPurpose::kTests, static_cast<std::uint64_t>(rows));
    MatrixXd features = testing::random_matrix(rows, columns, rng);
    features.col(0) *= large;
    const MatrixXd labels = testing::random_matrix(rows, 1, rng);
    const auto fit = FeatureEnergy::evaluate(features, labels, MatrixXd::Ones(1, 1), 0.3);
    REQUIRE(fit);
    const MatrixXd expected = fit->weight_moments();
    std::vector<std::vector<double>> products(static_cast<std::size_t>(columns));
    for (int r = 0; r < 20'000; ++r) {
      const VectorXd w = fit->draw_weights(rng);
      for (Index k = 0; k < columns; ++k) {
        products[static_cast<std::size_t>(k)].push_back(w[columns - 1] * w[k]);
      }
    }
    for (Index k = 0; k < columns; ++k) {
      CHECK(deviation(products[static_cast<std::size_t>(k)], expected(columns - 1, k)) <
            testing::largest_z(kComparisons));
    }
  }
}
