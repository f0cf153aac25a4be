// Block draws against the formula they implement, with Phi built column by column.
#include "posterior/weight_gibbs.hpp"

#include <Eigen/Cholesky>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/sampling/sample.hpp"
#include "weight_problems.hpp"

using Catch::Matchers::WithinRel;

using namespace headway;             // NOLINT: a test
using namespace headway::posterior;  // NOLINT

namespace {

using testing::make_weight_posterior;
using testing::random_weight_data;
using testing::WeightData;
using testing::WeightProblem;

std::shared_ptr<const WeightNetwork> network_of(const WeightProblem& problem) {
  return std::make_shared<const WeightNetwork>(problem.architecture, problem.features);
}

}  // namespace

TEST_CASE("Every block is drawn as v' + Phi^T (Phi Phi^T + T)^-1 (y - Phi v' - eps)") {
  for (const WeightProblem& problem : testing::weight_problems()) {
    const WeightData data = random_weight_data(problem);
    WeightPosterior posterior = make_weight_posterior(problem, data);
    const auto network = network_of(problem);
    WeightGibbs gibbs(network, data.kernels, problem.temperature);
    Rng rng(41, StreamPurpose::kTests, problem.stream);
    VectorXd start(posterior.dimension());
    rng.fill_normal({start.data(), static_cast<std::size_t>(start.size())});
    for (int l = 0; l <= network->top(); ++l) {
      INFO(testing::describe(problem) << ", block " << l);
      const testing::Segment block = testing::block_segment(*network, l);
      const MatrixXd phi = testing::explicit_phi(posterior, start, block);
      Rng drawn(42, StreamPurpose::kTests, problem.stream);
      Rng repeated(42, StreamPurpose::kTests, problem.stream);
      VectorXd position = start;
      gibbs.prepare(position, l);
      const double squares = gibbs.draw_block(l, data.kernels->labels(), drawn, position);

      VectorXd v(block.size);
      repeated.fill_normal({v.data(), static_cast<std::size_t>(v.size())});
      VectorXd eps(phi.rows());
      repeated.fill_normal({eps.data(), static_cast<std::size_t>(eps.size())});
      MatrixXd system = phi * phi.transpose();
      system.diagonal().array() += problem.temperature;
      const VectorXd residual =
          data.kernels->labels().reshaped() - phi * v - std::sqrt(problem.temperature) * eps;
      const VectorXd expected = v + phi.transpose() * Eigen::LLT<MatrixXd>(system).solve(residual);

      const VectorXd got = position.segment(block.offset, block.size);
      CHECK((got - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <
            1e-11 * (1.0 + expected.norm()));
      CHECK_THAT(squares, WithinRel(expected.squaredNorm(), 1e-11));
      CHECK(drawn.state() == repeated.state());
      position.segment(block.offset, block.size) = start.segment(block.offset, block.size);
      CHECK(position == start);  // nothing else moved
    }
  }
}

TEST_CASE("A sweep is its blocks in order, and returns the log density of where it ends") {
  for (const WeightProblem& problem : testing::weight_problems()) {
    INFO(testing::describe(problem));
    const WeightData data = random_weight_data(problem);
    WeightPosterior posterior = make_weight_posterior(problem, data);
    const auto network = network_of(problem);
    Rng whole(43, StreamPurpose::kTests, problem.stream);
    Rng parts(43, StreamPurpose::kTests, problem.stream);
    VectorXd position(posterior.dimension());
    posterior.draw_start(whole, position);
    VectorXd by_block(posterior.dimension());
    posterior.draw_start(parts, by_block);
    for (int sweep = 0; sweep < 3; ++sweep) {
      const double log_density = posterior.sweep(whole, position);
      VectorXd gradient(position.size());
      CHECK_THAT(log_density, WithinRel(posterior.log_density(position, gradient), 1e-10));
      for (int l = 0; l <= network->top(); ++l) {
        WeightGibbs fresh(network, data.kernels, problem.temperature);
        fresh.prepare(by_block, l);  // from the weights alone, nothing carried over
        fresh.draw_block(l, data.kernels->labels(), parts, by_block);
      }
      CHECK((position - by_block).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <
            1e-9 * (1.0 + position.norm()));
    }
  }
}

TEST_CASE("Wide layers are drawn in groups of columns") {
  // More columns than a group holds, in an input block, a layer and the readout.
  const WeightProblem problem{{{2, 2}, {600, 7, 301}, {1.0, 0.7, 1.2, 0.9}, 1}, 0.3, 5, 270, 8};
  const WeightData data = random_weight_data(problem);
  WeightPosterior posterior = make_weight_posterior(problem, data);
  Rng rng(44, StreamPurpose::kTests);
  VectorXd position(posterior.dimension());
  posterior.draw_start(rng, position);
  VectorXd gradient(position.size());
  for (int sweep = 0; sweep < 3; ++sweep) {
    const double log_density = posterior.sweep(rng, position);
    CHECK_THAT(log_density, WithinRel(posterior.log_density(position, gradient), 1e-9));
  }
  // So many weights have no names, and sampling them needs none.
  REQUIRE(posterior.coordinate_names().empty());
  sampling::SamplerOptions options;
  options.sampler = sampling::SamplerKind::kSweep;
  options.chains = 1;
  options.warmup = 0;
  options.draws = 4;
  options.keep_draws = false;
  const sampling::SamplingResult run = sampling::sample(posterior, options);
  CHECK(run.summary.dimension == posterior.dimension());
  CHECK(run.summary.complete);
  options.keep_draws = true;
  CHECK(sampling::sample(posterior, options).names.at(7) == "q[7]");
}

TEST_CASE("The same stream makes the same sweep on a clone") {
  const WeightProblem problem = testing::weight_problems()[3];
  WeightPosterior posterior = make_weight_posterior(problem, random_weight_data(problem));
  Rng a(45, StreamPurpose::kTests);
  VectorXd first(posterior.dimension());
  posterior.draw_start(a, first);
  Rng b = a;
  VectorXd second = first;
  posterior.sweep(a, first);
  const auto copy = posterior.clone();
  dynamic_cast<sampling::SweepTarget&>(*copy).sweep(b, second);
  CHECK(first == second);
  CHECK(a.state() == b.state());
}

TEST_CASE("A temperature below rounding is an error, not a wrong draw") {
  WeightProblem problem{{{1}, {2, 2}, {1.0, 1.0, 1.0}, 1}, 1e-300, 6, 3, 9};
  WeightPosterior posterior = make_weight_posterior(problem, random_weight_data(problem));
  Rng rng(46, StreamPurpose::kTests);
  VectorXd position(posterior.dimension());
  posterior.draw_start(rng, position);
  try {
    for (int i = 0; i < 20; ++i) posterior.sweep(rng, position);
    FAIL("every factorisation went through");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("temperature"));
  }
}
