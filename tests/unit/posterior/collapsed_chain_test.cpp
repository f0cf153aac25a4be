#include "headway/posterior/collapsed_chain.hpp"

#include <cmath>
#include <functional>
#include <numeric>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/sampling/sample.hpp"
#include "posterior/feature_energy.hpp"
#include "weight_problems.hpp"

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

using namespace headway;             // NOLINT: a test
using namespace headway::posterior;  // NOLINT

namespace {

using testing::random_weight_data;
using testing::WeightData;
using testing::WeightProblem;

CollapsedChain chain_of(const WeightProblem& problem, const WeightData& data) {
  return {problem.architecture, problem.temperature, data.kernels, data.test_features};
}

VectorXd start_of(CollapsedChain& chain, std::uint64_t stream) {
  Rng rng(41, StreamPurpose::kTests, stream);
  VectorXd x(chain.dimension());
  REQUIRE(chain.draw_start(rng, x));
  return x;
}

ErrorKind kind_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::kInternal;
}

double largest_difference(const MatrixXd& a, const MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

}  // namespace

TEST_CASE("A position has one coordinate for each name, and predicts as the exact chain") {
  for (const WeightProblem& problem : testing::weight_problems()) {
    INFO(testing::describe(problem));
    const WeightData data = random_weight_data(problem);
    CollapsedChain chain = chain_of(problem, data);
    CHECK(static_cast<Index>(chain.coordinate_names().size()) == chain.dimension());
    const VectorXd x = start_of(chain, problem.stream);
    const PosteriorDraw draw = chain.observe(x, true);
    REQUIRE(draw.order_parameters.layers.size() == problem.architecture.heads.size());
    // Given U_1 both are Gaussian processes with its kernel.
    const MatrixXd& u = draw.order_parameters.layers.front();
    const auto state = data.kernels->evaluate(u, problem.temperature);
    const theory::RepeatedPredictor predictor(data.kernels, data.test_features, 1.0);
    const theory::Prediction expected = predictor.predict(*state, u);
    CHECK(largest_difference(draw.mean, expected.mean) < 1e-9);
    CHECK(largest_difference(draw.variance, expected.variance) < 1e-9);
    CHECK(chain.observe(x, false).mean.size() == 0);
  }
}

TEST_CASE("The log likelihood is that of the function that the weights of a position give") {
  for (const WeightProblem& problem : testing::weight_problems()) {
    INFO(testing::describe(problem));
    const WeightData data = random_weight_data(problem);
    CollapsedChain chain = chain_of(problem, data);
    const VectorXd x = start_of(chain, problem.stream);
    // E = (s_1 / sqrt N_1) (I kron F_2) B from the documented layout.
    const model::Architecture& a = problem.architecture;
    const BartlettChain upper = BartlettChain::above(a, 2);
    const MatrixXd f2 = upper.factors(x.head(upper.dimension())).factor.front();
    const Index units = a.widths.front(), inputs = data.kernels->feature_count();
    const Index columns = a.heads.front() * f2.cols();
    const MatrixXd b = x.segment(upper.dimension(), units * columns).reshaped(units, columns);
    const MatrixXd z = x.tail(units * inputs).reshaped(inputs, units);
    double squares = 0.0;
    for (Index mu = 0; mu < data.kernels->examples(); ++mu) {
      for (Index c = 0; c < a.outputs; ++c) {
        double f = 0.0;
        for (Index path = 0; path < a.paths(); ++path) {
          const Index h = path / a.paths_above(2), g = path % a.paths_above(2);
          const VectorXd input =
              data.kernels->features().row(mu).segment(path * inputs, inputs).transpose();
          for (Index k = 0; k < f2.cols(); ++k) {
            f += std::sqrt(a.variance(1) / a.width(1)) * f2(g * a.outputs + c, k) *
                 b.col(h * f2.cols() + k).dot(z.transpose() * input);
          }
        }
        squares += std::pow(data.kernels->labels()(mu, c) - f, 2);
      }
    }
    const auto count = static_cast<double>(data.kernels->labels().size());
    const double expected =
        -0.5 * squares / problem.temperature - 0.5 * count * std::log(problem.temperature);
    CHECK_THAT(chain.log_likelihood(x), WithinRel(expected, 1e-10));
  }
}

TEST_CASE("A sweep returns the log density of where it ends, and the prior is drawn at beta 0") {
  const WeightProblem problem = testing::weight_problems()[5];
  const WeightData data = random_weight_data(problem);
  CollapsedChain chain = chain_of(problem, data);
  const BartlettChain upper = BartlettChain::above(problem.architecture, 2);
  VectorXd x = start_of(chain, 1);
  Rng rng(42, StreamPurpose::kTests);
  VectorXd gradient(upper.dimension());
  const auto count = static_cast<double>(data.kernels->labels().size());
  for (const double beta : {1.0, 0.3}) {
    chain.set_inverse_temperature(beta);
    const double density = chain.sweep(rng, x);
    const double likelihood = chain.log_likelihood(x) + 0.5 * count * std::log(problem.temperature);
    CHECK_THAT(density, WithinRel(upper.log_prior(x.head(upper.dimension()), gradient) -
                                      0.5 * x.tail(x.size() - upper.dimension()).squaredNorm() +
                                      beta * likelihood,
                                  1e-10));
  }
  chain.set_inverse_temperature(0.0);
  Rng one(43, StreamPurpose::kTests), same(43, StreamPurpose::kTests);
  VectorXd drawn(x.size());
  chain.sweep(one, x);
  chain.draw_start(same, drawn);
  CHECK(x == drawn);
}

TEST_CASE("What a sweep leaves behind changes no prediction") {
  const WeightProblem problem = testing::weight_problems()[5];
  const WeightData data = random_weight_data(problem);
  CollapsedChain chain = chain_of(problem, data);
  CollapsedChain fresh = chain_of(problem, data);
  VectorXd x = start_of(chain, 1);
  const VectorXd other = x;
  Rng rng(45, StreamPurpose::kTests);
  chain.sweep(rng, x);
  for (const VectorXd& at : {x, other}) {
    const PosteriorDraw draw = chain.observe(at, true);
    const PosteriorDraw expected = fresh.observe(at, true);
    CHECK(draw.mean == expected.mean);
    CHECK(draw.variance == expected.variance);
  }
  CHECK(largest_difference(chain.observe(x, true).mean, chain.observe(other, true).mean) > 1e-3);
  chain.set_inverse_temperature(0.3);
  chain.sweep(rng, x);
  CHECK(chain.observe(x, true).mean == fresh.observe(x, true).mean);
}

TEST_CASE("The collapsed chain has no gradient, and refuses what it cannot sample") {
  const WeightProblem problem = testing::weight_problems()[1];
  const WeightData data = random_weight_data(problem);
  CollapsedChain chain = chain_of(problem, data);
  VectorXd x = start_of(chain, 2);
  VectorXd gradient(x.size());
  CHECK(kind_of([&] { chain.log_density(x, gradient); }) == ErrorKind::kInternal);
  WeightProblem cold = problem;
  cold.temperature = 0.0;
  CHECK(kind_of([&] { chain_of(cold, data); }) == ErrorKind::kBadStudy);
  WeightProblem other = problem;
  other.architecture.heads = {2};
  CHECK(kind_of([&] { chain_of(other, data); }) == ErrorKind::kBadStudy);
  x[0] = std::nan("");
  Rng rng(44, StreamPurpose::kTests);
  CHECK(kind_of([&] { chain.sweep(rng, x); }) == ErrorKind::kBadStudy);
}
